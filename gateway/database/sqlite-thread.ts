/** A thread that has a SQLite file open and does what `connectThread` asks; see there. */
import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './sqlite-connection.js';
import type { Answer, Question } from './thread-connection.js';

const port = parentPort;
if (!port) throw new Error('This is a worker thread’s script.');

let connection: ReturnType<typeof openConnection> | undefined;

async function answer({ id, method, argument }: Question): Promise<Answer> {
  try {
    connection ??= openConnection(workerData);
    // biome-ignore lint/suspicious/noExplicitAny: the other side typed them together.
    return { id, result: await connection[method](argument as any) };
  } catch (error) {
    // A clone of an error keeps its kind and message alone.
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    return { id, error, code };
  }
}

port.on('message', async (question: Question) => port.postMessage(await answer(question)));
