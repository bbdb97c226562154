import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access, NoTables } from './access.js';

/** Deletes what nobody will ask a room for again; `now` in epoch milliseconds. */
export type Prune = (trx: Transaction<NoTables>, now: number) => Promise<void>;

export interface DailyPruning {
  /** Ends with what is under way. */
  close(): Promise<void>;
}

export interface DailyPruningOptions {
  access: Access<NoTables>;
  logger: Pick<Logger, 'warn'>;
  /** Each room's, run in one transaction. */
  parts: readonly Prune[];
}

const hourMs = 3_600_000;

/** Deletes what is old at the start and once a UTC day. */
export function pruneDaily({ access, logger, parts }: DailyPruningOptions): DailyPruning {
  let doneOn: string | undefined;
  let running = prune();

  async function prune(): Promise<void> {
    const now = Date.now();
    const today = new Date(now).toISOString().slice(0, 10);
    if (doneOn === today) return;
    try {
      await access.change(async (trx) => {
        for (const part of parts) await part(trx, now);
      });
      doneOn = today;
    } catch (error) {
      logger.warn({ err: error }, 'old figures could not be deleted; tried again in an hour');
    }
  }

  const timer = setInterval(() => {
    running = prune();
  }, hourMs);
  timer.unref();

  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
