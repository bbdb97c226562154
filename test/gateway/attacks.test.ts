import { manyKeys, slowClients, unreadAnswers } from '../soak/attacks/slow-clients.js';
import { inTurn } from '../soak/scenario.js';
import { fuzz, holds } from './attacks.js';

/** A little of what the soak does at length. */
describe('under attack', function () {
  this.timeout(120_000);

  it('by a few slow clients, answers that are not read and 100 keys, others are served and nothing stays open', () =>
    holds(inTurn('clients', [manyKeys, slowClients, unreadAnswers]), { calls: 16, seconds: 1 }, 20_000));

  it('by a fuzz of bodies, messages, headers and request lines the gateway lives, and answers no server error', () =>
    holds(fuzz, { calls: 20, seconds: 0 }));
});
