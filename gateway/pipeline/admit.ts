import type { Pool } from '../../pool/pool.js';
import type { Stage } from './state.js';

/**
 * Takes a place in the pool for a call that needs one, before anything is downloaded for it: a call that cannot be
 * worked on must not cost a download, and a backlog of downloads must not overtake the queue.
 */
export function admit(pool: Pool): Stage {
  return async function admit(ctx, next) {
    const { helper, tenant, dryrun, gone } = ctx.state;
    const works = !dryrun || helper?.declaration.dryrun === 'run';
    if (helper?.declaration.runs !== 'pool' || !tenant || !works) return next();
    const place = pool.reserve(tenant.id, tenant.weight);
    ctx.state.place = place;
    // A client that has gone must not keep its place in the queue.
    gone.addEventListener('abort', place.release);
    try {
      await next();
    } finally {
      place.release();
    }
  };
}
