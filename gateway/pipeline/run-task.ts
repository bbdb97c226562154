import type { Task, TaskOutcome } from '../../pool/task.js';
import type { CallState } from './state.js';

/** Runs a task in the call's turn and adds the time that it held a thread to the call's; throws a `PoolError`. */
export async function runTask<T extends Task>(state: CallState, task: T): Promise<TaskOutcome<T['kind']>> {
  const { turn } = state;
  if (!turn) throw new Error('a task is run for a call that was admitted');
  const outcome = await turn.run(task).catch((error) => {
    state.taskMs += (error as { ms?: number }).ms ?? 0;
    throw error;
  });
  state.taskMs += outcome.ms;
  return outcome as TaskOutcome<T['kind']>;
}
