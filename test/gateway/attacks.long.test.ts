import { quietTenant, singleRequests } from '../soak/attacks/costly-bodies.js';
import { slowArrivals } from '../soak/attacks/slow-clients.js';
import { fuzz, holds } from './attacks.js';

describe('under attack, at length,', function () {
  this.timeout(300_000);

  it('by costly bodies, none takes the main thread, or memory out of proportion', () =>
    holds(singleRequests(500), { calls: 1, seconds: 0 }));

  it('by eight clients with costly bodies, a quiet tenant is served', () =>
    holds(quietTenant, { calls: 0, seconds: 2 }, 20_000));

  it('by half-sent bodies and dripping sources, no complete work of the same tenant waits', () =>
    holds(slowArrivals, { calls: 0, seconds: 3 }, 20_000));

  it('by a fuzz, the gateway lives and answers no server error', () =>
    holds(fuzz, { calls: process.env.TEST_RELOADS === 'all' ? 300 : 100, seconds: 0 }));
});
