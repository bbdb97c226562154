import { inputError } from '../errors.js';
import type { Watch } from '../http/body/meter.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import type { HttpCall } from './stage.js';
import type { Caller } from './state.js';

/**
 * Has a call's body read as one of the tenant's arrivals: counted as it comes, ended where it comes too slowly, and its bytes held
 * against the tenant until `use` has done with what was read. What is read is handed on and not kept here.
 */
export async function receive<Read, Result>(
  { ctx, state, caller, bodyBytes }: HttpCall & { caller: Caller },
  arrivals: Arrivals,
  { read, use }: { read: (watch: Watch) => Promise<Read>; use: (read: Read) => Result | Promise<Result> },
): Promise<Result> {
  const arrival = await arrivals.enterBody(caller.tenant.id, bodyBytes);
  const watch = {
    ending: arrival.ending,
    onBytes(bytes: number) {
      state.bytesIn += bytes;
      arrival.add(bytes);
    },
  };
  try {
    // It may have waited for long, and of a request that is over by then some readers would hear nothing.
    if (ctx.req.destroyed) throw inputError([{ field: 'body', problem: 'must be complete' }]);
    if (/^100-continue$/i.test(ctx.get('expect'))) ctx.res.writeContinue();
    // Not awaited to a variable, which would hold the bytes for as long as the call lasts.
    return await read(watch).then((body) => {
      arrival.complete();
      return use(body);
    });
  } finally {
    arrival.release();
  }
}
