import { performance } from 'node:perf_hooks';
import type { TaskHost } from '../../pool/context/messages.js';
import { PoolError } from '../../pool/errors.js';
import type { Pool, Ticket } from '../../pool/pool.js';
import type { Task, TaskOutcome } from '../../pool/task.js';
import { lightBytes } from '../../schemas/input/validate-input.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { Helper } from '../plugins/registry.js';
import type { Call, Caller, Stage } from './stage.js';

/**
 * Gives the call its turn in the pool, and asks at once whether it would be accepted where it brings a body that is not known
 * to be small: a call that cannot be worked on must cost no upload. Without a body it asks before its download, or when its
 * work is to begin. Of what a tenant may have in flight each of several processes of the host allows its share.
 */
export function admit(
  helper: Pick<Helper, 'group'>,
  pool: Pick<Pool, 'turn'>,
  processes = 1,
): Stage<Call & { caller: Caller; limits: EffectiveLimits }, { turn: Ticket }> {
  return async function admit({ state: { gone }, bodyBytes, caller: { tenant }, limits }, next) {
    const asker = { tenant: tenant.id, weight: tenant.weight, most: shareOf(limits.inFlight, processes) };
    const turn = pool.turn(asker, helper.group);
    // A client that has gone must not keep its place in the line.
    gone.listen(turn.leave);
    try {
      if (bodyBytes > lightBytes) await turn.expect();
      return await next({ turn });
    } finally {
      turn.leave();
    }
  };
}

/** Rounded up, for each has to allow one. */
function shareOf(most: number | null, processes: number): number | null {
  return most === null ? null : Math.ceil(most / processes);
}

/** A call that has its turn in the pool. */
export interface AdmittedCall extends Call {
  readonly turn: Ticket;
}

/** Runs a task in the call's turn and adds the time that it held a thread to the call's; throws a `PoolError`. */
export async function runTask<T extends Task>(
  { state, turn }: AdmittedCall,
  task: T,
  host?: TaskHost,
): Promise<TaskOutcome<T['kind']>> {
  const step = state.trace?.part(`pool-${task.kind}`);
  const since = performance.now();
  const spent = (ms: number, error?: unknown) => {
    state.taskMs += ms;
    // What is not the task's own time was waited for: a thread, for the most part.
    step?.set({ 'helper_gateway.task_ms': ms, 'helper_gateway.wait_ms': performance.now() - since - ms });
    step?.end(error);
  };
  const outcome = await turn.run(task, host).catch((error) => {
    spent(error instanceof PoolError ? error.ms : 0, error);
    throw error;
  });
  spent(outcome.ms, outcome.ok ? undefined : outcome);
  return outcome as TaskOutcome<T['kind']>;
}

/**
 * Does what is a call of this helper, from the moment in which it was looked up: the threads that have loaded its version stay
 * until that has ended, also where another version has taken its place meanwhile.
 */
export async function holdVersion<T>({ group }: Pick<Helper, 'group'>, work: () => Promise<T>): Promise<T> {
  group?.enter();
  try {
    return await work();
  } finally {
    group?.leave();
  }
}
