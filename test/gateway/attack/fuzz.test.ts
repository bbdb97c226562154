import { bodyFuzz } from '../../soak/attacks/body-fuzz.js';
import { headFuzz } from '../../soak/attacks/head-fuzz.js';
import { inTurn } from '../../soak/scenario.js';
import { holds } from './attacks.js';

describe('under a fuzz of', function () {
  this.timeout(60_000);

  it('JSON, form and multipart bodies, the gateway lives and answers no server error', () =>
    holds(inTurn('fuzz: bodies', bodyFuzz), { calls: 300, seconds: 0 }));

  it('headers and request lines, the gateway lives and answers no server error', () =>
    holds(inTurn('fuzz: heads', headFuzz), { calls: 300, seconds: 0 }));
});
