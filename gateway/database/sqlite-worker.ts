import { Worker } from 'node:worker_threads';
import type { SqliteConnection } from './sqlite-connection.js';

export interface Question {
  id: number;
  method: keyof SqliteConnection;
  argument: unknown;
}

export type Answer = { id: number; result: unknown } | { id: number; error: Error; code: string | undefined };

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** A thread that has a SQLite file open. */
export interface SqliteWorker {
  readonly ended: boolean;
  /** Rejects also where the thread ends before it has answered. */
  ask(method: keyof SqliteConnection, argument?: unknown): Promise<unknown>;
  end(): Promise<void>;
}

/** Starts `sqlite-thread`; `onFailed` gets the reason of an end that nobody asked for. */
export function startSqliteWorker(file: string, onFailed: (error: Error) => void): SqliteWorker {
  const worker = new Worker(new URL('./sqlite-thread.js', import.meta.url), { workerData: file });
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let ended = false;
  let reason: Error | undefined;

  worker.on('message', (answer: Answer) => {
    const waiter = waiting.get(answer.id);
    waiting.delete(answer.id);
    // Only what is asked keeps the process alive.
    if (waiting.size === 0) worker.unref();
    if (!('error' in answer)) return waiter?.resolve(answer.result);
    const { error, code } = answer;
    waiter?.reject(code === undefined ? error : Object.assign(error, { code }));
  });
  // Without a listener it would end the process, and everybody's calls with it.
  worker.once('error', (error: Error) => {
    reason = error;
    onFailed(error);
  });
  worker.once('exit', () => {
    ended = true;
    for (const { reject } of waiting.values()) reject(notOpen(reason));
    waiting.clear();
  });

  return {
    get ended() {
      return ended;
    },
    ask(method, argument) {
      return new Promise((resolve, reject) => {
        if (ended) return reject(notOpen(reason));
        asked += 1;
        worker.postMessage({ id: asked, method, argument } satisfies Question);
        waiting.set(asked, { resolve, reject });
        worker.ref();
      });
    },
    async end() {
      await worker.terminate();
    },
  };
}

/** What is asked of a connection that is closed or lost is answered with. */
export function notOpen(cause?: Error): Error {
  return new Error('The database connection is not open', cause ? { cause } : {});
}
