import { quietTenant } from '../../soak/attacks/quiet-tenant.js';
import { singleRequests } from '../../soak/attacks/single-requests.js';
import { holds } from './attacks.js';

describe('under costly bodies', function () {
  this.timeout(300_000);

  it('none takes the main thread, or memory out of proportion', () =>
    holds(singleRequests(500), { calls: 1, seconds: 0 }));

  it('a quiet tenant is served beside eight clients', () =>
    holds(quietTenant, { calls: 0, seconds: 2 }, { goodP99Ms: 20_000 }));
});
