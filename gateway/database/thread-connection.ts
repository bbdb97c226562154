import type { QueryResult } from 'kysely';
import { beginWriting, type SqliteConnection } from './sqlite-connection.js';
import { notOpen, startSqliteWorker } from './sqlite-worker.js';

/**
 * Opens a SQLite file on a thread of its own. SQLite works where it is called: on the main thread each statement, each wait for
 * the disk and for another's lock would hold up every call, for as long as a busy disk takes.
 *
 * A thread that fails, as it does where its memory runs out, fails what was asked of it, and the next question starts another;
 * but no transaction is gone on with on a thread that does not know its beginning. `onLost` gets the reason.
 */
export function connectThread(file: string, onLost: (error: Error) => void = () => {}): SqliteConnection {
  const start = () => startSqliteWorker(file, onLost);
  let worker = start();
  let inTransaction = false;
  let closed = false;

  async function ask(method: keyof SqliteConnection, argument?: unknown): Promise<unknown> {
    if (closed || (worker.ended && inTransaction)) throw notOpen();
    if (worker.ended) worker = start();
    return worker.ask(method, argument);
  }

  return {
    async exec(sql) {
      await ask('exec', sql);
      if (sql === beginWriting) inTransaction = true;
      if (sql === 'commit') inTransaction = false;
    },
    query: (query) => ask('query', query) as Promise<QueryResult<unknown>>,
    async rollback() {
      inTransaction = false;
      // With its thread a transaction has gone.
      if (!closed && !worker.ended) await ask('rollback');
    },
    async close() {
      if (closed) return;
      closed = true;
      // One that fails now is closed too.
      if (!worker.ended) await worker.ask('close').catch(onLost);
      await worker.end();
    },
  };
}
