import { limitBounds } from '../limits.js';
import { integer, share } from './numbers.js';
import type { Variables } from './variable.js';

/** The limits of a tenant for which nothing else is set. */
export const limitVariables = {
  rate: {
    name: 'HELPER_RATE',
    reader: 'limits',
    form: integer({ ...limitBounds.rate, note: '0 is no limit' }),
    default: '50',
    description: 'Requests a second of a tenant for which nothing else is set.',
  },
  burst: {
    name: 'HELPER_BURST',
    reader: 'limits',
    form: integer(limitBounds.burst),
    default: '0',
    description: 'Requests beyond the rate that a tenant may spend within ten seconds.',
  },
  monthlyQuota: {
    name: 'HELPER_MONTHLY_QUOTA',
    reader: 'limits',
    form: integer(limitBounds.monthly_quota),
    description: 'Answered calls of a tenant in a calendar month (UTC); no quota if unset.',
  },
  inFlight: {
    name: 'HELPER_IN_FLIGHT',
    reader: 'limits',
    form: integer(limitBounds.in_flight),
    description: 'Pool tasks of a tenant, waiting or running, in one gateway; no limit if unset.',
  },
  redisOutageShare: {
    name: 'HELPER_REDIS_OUTAGE_SHARE',
    reader: 'limits',
    form: share,
    default: '0.5',
    description: 'Share of each rate and burst that a gateway allows while Redis is away.',
  },
} satisfies Variables;
