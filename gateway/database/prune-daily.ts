import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access, NoTables } from './database.js';
import { rowsPerTransaction } from './rows.js';

/**
 * Deletes at most `most` rows that are not needed any more, and gives how many those were; `now` in epoch
 * milliseconds. It is called again for as long as it deletes `most`.
 */
export type Prune = (trx: Transaction<NoTables>, now: number, most: number) => Promise<number>;

export interface DailyPruning {
  /** Ends with what is under way, and leaves the rest of many rows to the next start. */
  close(): Promise<void>;
}

export interface DailyPruningOptions {
  access: Access<NoTables>;
  logger: Pick<Logger, 'warn'>;
  /** Each module's, run in many short transactions where it has much to delete. */
  parts: readonly Prune[];
}

const hourMs = 3_600_000;
/** Between two transactions, so that others find the database free for most of the time: some 20,000 rows a second. */
const pauseMs = 40;

/** Deletes what is old at the start and once a UTC day. */
export function pruneDaily({ access, logger, parts }: DailyPruningOptions): DailyPruning {
  let doneOn: string | undefined;
  let closed = false;
  let running: Promise<void> | undefined;

  async function prunePart(part: Prune, now: number): Promise<void> {
    while (
      (await access.change((trx) => part(trx, now, rowsPerTransaction))) >= rowsPerTransaction &&
      !closed
    ) {
      await pause(pauseMs);
    }
  }

  async function prune(): Promise<void> {
    const now = Date.now();
    const today = new Date(now).toISOString().slice(0, 10);
    if (doneOn === today) return;
    try {
      for (const part of parts) await prunePart(part, now);
      doneOn = today;
    } catch (error) {
      logger.warn({ err: error }, 'old figures could not be deleted; tried again in an hour');
    }
  }

  function start(): void {
    running ??= prune().finally(() => {
      running = undefined;
    });
  }

  start();
  const timer = setInterval(start, hourMs);
  timer.unref();

  return {
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
}
