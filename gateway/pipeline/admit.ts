import type { Place, Pool } from '../../pool/pool.js';
import { GatewayError } from '../errors.js';
import type { InFlight } from '../limits/in-flight.js';
import type { CallState, Stage } from './state.js';

/**
 * Takes a place in the pool for a call that needs one, before anything is downloaded for it: a call that cannot be
 * worked on must not cost a download, and a backlog of downloads must not overtake the queue.
 */
export function admit(pool: Pool, inFlight: InFlight): Stage {
  return async function admit(ctx, next) {
    const { helper, dryrun } = ctx.state;
    const works = !dryrun || helper?.declaration.dryrun === 'run';
    if (ctx.state.place || helper?.declaration.runs !== 'pool' || !works) return next();
    return inPlace({ pool, inFlight }, ctx.state, next);
  };
}

/**
 * The same for an upload, before its body is read: uploads are held in memory, and places bound how many there are and
 * share them fairly, so that slow uploads of one tenant crowd out nobody else's.
 */
export function admitUpload(pool: Pool, inFlight: InFlight): Stage {
  return async function admitUpload(ctx, next) {
    const { helper } = ctx.state;
    const uploads = ctx.method === 'POST' && ctx.is('multipart/form-data');
    if (!uploads || helper?.declaration.source === undefined) return next();
    return inPlace({ pool, inFlight }, ctx.state, next);
  };
}

async function inPlace(
  { pool, inFlight }: { pool: Pool; inFlight: InFlight },
  state: CallState,
  next: () => Promise<unknown>,
): Promise<void> {
  const { tenant, limits } = state;
  if (!tenant || !limits) throw new Error('a call is admitted for a tenant');
  const leave = inFlight.enter({ id: tenant.id, limits });
  if (!leave) throw new GatewayError('tenant_busy');
  try {
    await withPlace(pool.reserve(tenant.id, tenant.weight), state, next);
  } finally {
    leave();
  }
}

async function withPlace(place: Place, state: CallState, next: () => Promise<unknown>): Promise<void> {
  state.place = place;
  // A client that has gone must not keep its place in the queue.
  state.gone.addEventListener('abort', place.release);
  try {
    await next();
  } finally {
    place.release();
  }
}
