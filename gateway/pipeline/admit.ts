import { performance } from 'node:perf_hooks';
import { PoolError } from '../../pool/errors.js';
import type { Pool, RunTaskOptions, Ticket } from '../../pool/pool.js';
import type { Task, TaskOutcome } from '../../pool/task.js';
import { lightBytes } from '../../schemas/input/validate-input.js';
import type { EffectiveLimits } from '../limits/limiter.js';
import type { Call, Caller, Stage } from './stage.js';

/** A call with its ticket to the pool, which is made with its first use: most small calls need no thread. */
export interface AdmittedCall extends Call {
  readonly ticket: () => Ticket;
}

export interface AdmitOptions<Needs> {
  /** Of the host that serve the same tenants: each allows its share of what one may have in flight. */
  processes?: number | undefined;
  /** Whether its tasks yield to every call, as items of jobs do, which the runner bounds. */
  background?: boolean;
  watch?: (ticket: Ticket, call: Needs) => Ticket;
}

type LimitedCall = Call & { caller: Caller; limits: EffectiveLimits };

/** Gives the call its ticket to the pool; reserves a slot before a large body, for refused work must cost no upload. */
export function admit<Needs extends LimitedCall>(
  pool: Pick<Pool, 'ticket'>,
  { processes = 1, background = false, watch = (ticket) => ticket }: AdmitOptions<Needs> = {},
): Stage<Needs, Pick<AdmittedCall, 'ticket'>> {
  return async function admit(call, next) {
    let made: Ticket | undefined;
    const ticket = () => (made ??= make(call));
    try {
      if (call.bodyBytes > lightBytes) await ticket().reserve();
      return await next({ ticket });
    } finally {
      made?.release();
    }
  };

  function make(call: Needs): Ticket {
    const { id, weight } = call.caller.tenant;
    const { inFlight } = call.limits;
    // Rounded up, for each process has to allow one.
    const most = background || inFlight === null ? null : Math.ceil(inFlight / processes);
    return watch(pool.ticket({ tenant: id, weight, most, background }), call);
  }
}

/** Runs a task on the call's ticket and adds the time that it held a thread to the call's; throws a `PoolError`. */
export async function runTask<T extends Task>(
  { state, ticket }: AdmittedCall,
  task: T,
  host?: RunTaskOptions['host'],
): Promise<TaskOutcome<T['kind']>> {
  const step = state.trace?.part(`pool-${task.kind}`);
  const since = performance.now();
  const spent = (ms: number, error?: unknown) => {
    state.taskMs += ms;
    // The rest was spent waiting, mostly for a thread.
    step?.set({ 'helper_gateway.task_ms': ms, 'helper_gateway.wait_ms': performance.now() - since - ms });
    step?.end(error);
  };
  const outcome = await ticket()
    .run(task, { host, signal: state.signal })
    .catch((error) => {
      spent(error instanceof PoolError ? error.ms : 0, error);
      throw error;
    });
  spent(outcome.ms, outcome.ok ? undefined : outcome);
  return outcome as TaskOutcome<T['kind']>;
}
