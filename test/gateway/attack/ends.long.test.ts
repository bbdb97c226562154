import { slowArrivals } from '../../soak/attacks/slow-arrivals.js';
import { unreadAnswers } from '../../soak/attacks/unread-answers.js';
import { holds } from './attacks.js';

describe('under connections that come to no end,', function () {
  this.timeout(300_000);

  it('half-sent bodies and dripping sources keep no complete work of the same tenant waiting', () =>
    holds(slowArrivals, { calls: 0, seconds: 3 }, { goodP99Ms: 20_000 }));

  it('answers that are never read take no more memory than they may', () =>
    holds(unreadAnswers, { calls: 60, seconds: 1 }, { goodP99Ms: 20_000 }));
});
