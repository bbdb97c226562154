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
  const outcome = await turn.run(task, host).catch((error) => {
    if (error instanceof PoolError) state.taskMs += error.ms;
    throw error;
  });
  state.taskMs += outcome.ms;
  return outcome as TaskOutcome<T['kind']>;
}
