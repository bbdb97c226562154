import { performance } from 'node:perf_hooks';
import type { TaskHost } from '../../pool/context/task-host.js';
import { PoolError } from '../../pool/pool-error.js';
import type { Task, TaskOutcome } from '../../pool/task.js';
import type { Turn } from '../../pool/turn.js';
import type { Call } from './stage.js';

/** A call that has its turn in the pool. */
export interface AdmittedCall extends Call {
  readonly turn: Turn;
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
