import { setTimeout as pause } from 'node:timers/promises';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access, NoTables } from './database.js';
import { rowsPerTransaction } from './rows.js';

/** Deletes at most `most` rows that are not needed any more, `now` in epoch ms, and returns how many; called again while it deletes `most`. */
export type Prune = (trx: Transaction<NoTables>, now: number, most: number) => Promise<number>;

/** Deletes rows of a table that are old at a moment; `key` are the columns that name a row. */
export function pruneTable(table: string, key: string, isOld: (now: number) => RawBuilder<unknown>): Prune {
  const [from, names] = [sql.raw(table), sql.raw(key)];
  return async (trx, now, most) => {
    const { numAffectedRows = 0n } = await sql`
      delete from ${from} where (${names}) in (select ${names} from ${from} where ${isOld(now)} limit ${most})
    `.execute(trx);
    return Number(numAffectedRows);
  };
}

const hourMs = 3_600_000;
/** Between two transactions, so that others find the database free for most of the time: some 20,000 rows a second. */
const pauseMs = 40;

/** Deletes what is old at the start and once a UTC day, in many short transactions where there is much. */
export function pruneDaily({
  access,
  logger,
  parts,
}: {
  access: Access<NoTables>;
  logger: Pick<Logger, 'warn'>;
  parts: readonly Prune[];
}) {
  let doneOn: string | undefined;
  let closed = false;
  let running: Promise<void> | undefined;

  async function prunePart(part: Prune, now: number): Promise<void> {
    for (;;) {
      const deleted = await access.change((trx) => part(trx, now, rowsPerTransaction));
      if (deleted < rowsPerTransaction || closed) return;
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
  const timer = setInterval(start, hourMs).unref();

  return {
    /** Ends with what is under way, and leaves the rest of many rows to the next start. */
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
}
