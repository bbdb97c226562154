import { bodyFuzz } from '../../soak/attacks/body-fuzz.js';
import { headFuzz } from '../../soak/attacks/head-fuzz.js';
import { messageFuzz } from '../../soak/attacks/message-fuzz.js';
import { inTurn } from '../../soak/scenario.js';
import { holds } from './attacks.js';

describe('under a fuzz of', function () {
  this.timeout(300_000);

  it('bodies, messages, headers and request lines the gateway lives, and answers no server error', () =>
    holds(inTurn('fuzz', [...bodyFuzz, ...messageFuzz, ...headFuzz]), { calls: 300, seconds: 0 }));
});
