import { Worker } from 'node:worker_threads';
import type { QueryResult } from 'kysely';
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

/**
 * Opens a SQLite file on a thread of its own. SQLite works where it is called: on the main thread each statement, each wait for
 * the disk and for another's lock would hold up every call, for as long as a busy disk takes.
 */
export function connectThread(file: string): SqliteConnection {
  const worker = new Worker(new URL('./sqlite-thread.js', import.meta.url), { workerData: file });
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let ended = false;

  worker.on('message', (answer: Answer) => {
    const waiter = waiting.get(answer.id);
    waiting.delete(answer.id);
    // Only what is asked keeps the process alive.
    if (waiting.size === 0) worker.unref();
    if (!('error' in answer)) return waiter?.resolve(answer.result);
    const { error, code } = answer;
    waiter?.reject(code === undefined ? error : Object.assign(error, { code }));
  });
  worker.once('exit', () => {
    ended = true;
    for (const { reject } of waiting.values()) reject(closed());
    waiting.clear();
  });

  function ask(method: keyof SqliteConnection, argument?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (ended) return reject(closed());
      asked += 1;
      waiting.set(asked, { resolve, reject });
      worker.ref();
      worker.postMessage({ id: asked, method, argument } satisfies Question);
    });
  }

  return {
    exec: (sql) => ask('exec', sql) as Promise<void>,
    query: (query) => ask('query', query) as Promise<QueryResult<unknown>>,
    rollback: () => ask('rollback') as Promise<void>,
    async close() {
      if (ended) return;
      await ask('close');
      await worker.terminate();
    },
  };
}

function closed(): Error {
  return new Error('The database connection is not open');
}
