import type { Pool } from '../../pool/pool.js';
import type { CallState, Stage } from './state.js';

/**
 * Takes a place in the pool for a call that needs one, before anything is downloaded for it: a call that cannot be
 * worked on must not cost a download, and a backlog of downloads must not overtake the queue.
 */
export function admit(pool: Pool): Stage {
  return async function admit(ctx, next) {
    const { helper, dryrun } = ctx.state;
    const works = !dryrun || helper?.declaration.dryrun === 'run';
    if (ctx.state.place || helper?.declaration.runs !== 'pool' || !works) return next();
    return inPlace(pool, ctx.state, next);
  };
}

/**
 * The same for an upload, before its body is read: uploads are held in memory, and places bound how many there are and
 * share them fairly, so that slow uploads of one tenant crowd out nobody else's.
 */
export function admitUpload(pool: Pool): Stage {
  return async function admitUpload(ctx, next) {
    const { helper } = ctx.state;
    const uploads = ctx.method === 'POST' && ctx.is('multipart/form-data');
    if (!uploads || helper?.declaration.source === undefined) return next();
    return inPlace(pool, ctx.state, next);
  };
}

async function inPlace(pool: Pool, state: CallState, next: () => Promise<unknown>): Promise<void> {
  const { tenant, gone } = state;
  if (!tenant) throw new Error('a call is admitted for a tenant');
  const place = pool.reserve(tenant.id, tenant.weight);
  state.place = place;
  // A client that has gone must not keep its place in the queue.
  gone.addEventListener('abort', place.release);
  try {
    await next();
  } finally {
    place.release();
  }
}
