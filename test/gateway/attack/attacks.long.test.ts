import { bodyFuzz } from '../../soak/attacks/body-fuzz.js';
import { quietTenant, singleRequests } from '../../soak/attacks/costly-bodies.js';
import { headFuzz } from '../../soak/attacks/head-fuzz.js';
import { messageFuzz } from '../../soak/attacks/message-fuzz.js';
import { manyKeys, slowArrivals, slowClients, unreadAnswers } from '../../soak/attacks/slow-clients.js';
import { inTurn } from '../../soak/scenario.js';
import { holds } from './attacks.js';

describe('under costly bodies', function () {
  this.timeout(300_000);

  it('none takes the main thread, or memory out of proportion', () =>
    holds(singleRequests(500), { calls: 1, seconds: 0 }));

  it('a quiet tenant is served beside eight clients', () =>
    holds(quietTenant, { calls: 0, seconds: 2 }, { goodP99Ms: 20_000 }));
});

describe('under the weight of', function () {
  this.timeout(300_000);

  it('slow and half-closed clients, others are served and nothing stays open', () =>
    holds(slowClients, { calls: 64, seconds: 2 }, { goodP99Ms: 20_000 }));

  it('100 keys at once, every call is answered', () => holds(manyKeys, { calls: 300, seconds: 0 }));
});

describe('under connections that come to no end,', function () {
  this.timeout(300_000);

  it('half-sent bodies and dripping sources keep no complete work of the same tenant waiting', () =>
    holds(slowArrivals, { calls: 0, seconds: 3 }, { goodP99Ms: 20_000 }));

  it('answers that are never read take no more memory than they may', () =>
    holds(unreadAnswers, { calls: 60, seconds: 1 }, { goodP99Ms: 20_000 }));
});

describe('under a fuzz of', function () {
  this.timeout(300_000);

  it('bodies, messages, headers and request lines the gateway lives, and answers no server error', () =>
    holds(inTurn('fuzz', [...bodyFuzz, ...messageFuzz, ...headFuzz]), { calls: 300, seconds: 0 }));
});
