/** A thread that has a SQLite file open and does what a `SqliteWorker` is asked; see there. */
import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerRequest, WorkerResponse } from './sqlite.js';
import { openConnection } from './sqlite-connection.js';

const port = parentPort;
if (!port) throw new Error('This is a worker thread’s script.');

let connection: ReturnType<typeof openConnection> | undefined;

async function answer({ id, method, argument }: WorkerRequest): Promise<WorkerResponse> {
  try {
    connection ??= openConnection(workerData);
    // biome-ignore lint/suspicious/noExplicitAny: the other side typed them together.
    return { id, result: await connection[method](argument as any) };
  } catch (error) {
    return { id, ...describe(error) };
  }
}

/** libsql's errors are none of JavaScript's own, and a clone of one of those keeps its kind and message alone. */
function describe(error: unknown): { error: Error; code: string | undefined } {
  if (error instanceof TypeError || error instanceof RangeError) return { error, code: undefined };
  const { message, code } = error as { message?: string; code?: string };
  return { error: new Error(message ?? String(error)), code };
}

port.on('message', async (question: WorkerRequest) => port.postMessage(await answer(question)));
