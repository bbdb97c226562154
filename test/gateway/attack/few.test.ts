import { manyKeys } from '../../soak/attacks/many-keys.js';
import { slowClients } from '../../soak/attacks/slow-clients.js';
import { unreadAnswers } from '../../soak/attacks/unread-answers.js';
import { inTurn } from '../../soak/scenario.js';
import { holds } from './attacks.js';

/** A little of what the long tests do at length. */
describe('under a few slow clients, answers that are not read and 100 keys', function () {
  this.timeout(60_000);

  it('others are served, and nothing stays open', () =>
    holds(
      inTurn('clients', [manyKeys, slowClients, unreadAnswers]),
      { calls: 16, seconds: 1 },
      { goodP99Ms: 20_000 },
    ));
});
