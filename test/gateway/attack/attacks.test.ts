import { bodyFuzz } from '../../soak/attacks/body-fuzz.js';
import { headFuzz } from '../../soak/attacks/head-fuzz.js';
import { messageFuzz } from '../../soak/attacks/message-fuzz.js';
import { manyKeys, slowClients, unreadAnswers } from '../../soak/attacks/slow-clients.js';
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

describe('under a fuzz of', function () {
  this.timeout(120_000);

  it('bodies, messages, headers and request lines the gateway lives, and answers no server error', () =>
    holds(inTurn('fuzz', [...bodyFuzz, ...messageFuzz, ...headFuzz]), { calls: 20, seconds: 0 }));
});
