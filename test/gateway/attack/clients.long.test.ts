import { manyKeys } from '../../soak/attacks/many-keys.js';
import { slowClients } from '../../soak/attacks/slow-clients.js';
import { holds } from './attacks.js';

describe('under the weight of', function () {
  this.timeout(300_000);

  it('slow and half-closed clients, others are served and nothing stays open', () =>
    holds(slowClients, { calls: 64, seconds: 2 }, { goodP99Ms: 20_000 }));

  it('100 keys at once, every call is answered', () => holds(manyKeys, { calls: 300, seconds: 0 }));
});
