import type { Kysely, Transaction } from 'kysely';
import { isConflict } from './database-error.js';
import { retryConflicts } from './retry.js';

/** No change is added to a transaction that has taken as long: other processes wait for it. In milliseconds. */
const longMs = 10;

/**
 * Runs changes in one transaction that are asked for while the one before is under way (group commit). SQLite has one transaction at a
 * time, of which each waits for the disk when it commits. Where a change fails, its transaction is undone and each change is run alone.
 */
export function commitTogether<Tables>(db: Kysely<Tables>) {
  type Change = (trx: Transaction<Tables>) => Promise<unknown>;
  interface Waiting {
    change: Change;
    resolve(result: unknown): void;
    reject(error: unknown): void;
  }
  const waiting: Waiting[] = [];
  let running = false;

  /** Runs the first, and what waits besides when that is done. */
  async function commit(first: Waiting): Promise<void> {
    const group = [first];
    try {
      const results = await retryConflicts(() =>
        db.transaction().execute(async (trx) => {
          const began = performance.now();
          const given: unknown[] = [];
          for (const { change } of group) given.push(await change(trx));
          for (let next = waiting.shift(); next; next = waiting.shift()) {
            group.push(next);
            given.push(await next.change(trx));
            if (performance.now() - began > longMs) break;
          }
          return given;
        }),
      );
      for (const [at, { resolve }] of group.entries()) resolve(results[at]);
    } catch (error) {
      if (group.length === 1 || isConflict(error)) for (const { reject } of group) reject(error);
      else for (const each of group) await commitAlone(each);
    }
  }

  async function commitAlone({ change, resolve, reject }: Waiting): Promise<void> {
    await retryConflicts(() => db.transaction().execute(change)).then(resolve, reject);
  }

  async function commitAll(): Promise<void> {
    running = true;
    // So that what is asked for in the same moment goes together.
    await Promise.resolve();
    for (let first = waiting.shift(); first; first = waiting.shift()) await commit(first);
    running = false;
  }

  return (change: Change): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.push({ change, resolve, reject });
      if (!running) void commitAll();
    });
}
