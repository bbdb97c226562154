import type { Transaction } from 'kysely';
import type { Access, TableSet } from '../../database/access.js';

/**
 * Runs changes in one transaction that were asked for while the one before was under way: each commit waits for the disk, and many
 * items end at about the same time. A change that fails fails those beside it too.
 */
export function createCommitTogether<Tables extends TableSet>(access: Access<Tables>) {
  type Change = (trx: Transaction<Tables>) => Promise<unknown>;
  interface Waiting {
    change: Change;
    resolve(result: unknown): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let running: Promise<void> | undefined;

  async function commit(batch: Waiting[]): Promise<void> {
    try {
      const results = await access.change(async (trx) => {
        const given: unknown[] = [];
        for (const { change } of batch) given.push(await change(trx));
        return given;
      });
      for (const [at, { resolve }] of batch.entries()) resolve(results[at]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function commitAll(): Promise<void> {
    // So that what is asked for in the same moment goes together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await commit(batch);
    }
    running = undefined;
  }

  return {
    run<T>(change: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        waiting.push({ change, resolve: resolve as (result: unknown) => void, reject });
        running ??= commitAll();
      });
    },
    /** Resolves when nothing is under way. */
    idle: async (): Promise<void> => running,
  };
}
