import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import { createAccess } from '../database/access.js';
import type { BatchSource, BatchWriter } from './batch-writer.js';
import { readUsage, type UsagePage, type UsageQuery } from './report.js';
import { pruneUsage } from './retention.js';
import type { UsageDatabase, UsageTable, UsageTables } from './tables.js';
import { createTally, dayOf, type UsageRecord } from './tally.js';

export interface UsageMeter {
  /** Counts a call. Synchronous and in memory: it costs the request about a microsecond. */
  record(call: UsageRecord): void;
  /** A tenant's figures; at most one flush interval behind. */
  usage(tenant: string, query?: UsageQuery): Promise<UsagePage>;
  /** Writes what is left and stops; the batch writer is its owner's to close. */
  close(): Promise<void>;
}

export interface UsageMeterOptions {
  db: UsageDatabase;
  writer: BatchWriter;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Days that figures are kept; default 400, a year and a month. */
  retentionDays?: number;
  /** Rows in memory at most while the database is away; default 50,000. */
  maxRows?: number;
}

const SUMS = [
  'calls',
  'errors_client',
  'errors_limited',
  'errors_server',
  'bytes_in',
  'bytes_out',
  'cpu_ms',
] as const satisfies (keyof UsageTable)[];

// 500 rows of 11 values stay far below the 32,766 parameters that SQLite takes.
const ROWS_A_STATEMENT = 500;
const HOUR_MS = 3_600_000;

async function addRows(trx: Transaction<UsageTables>, rows: UsageTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    await trx
      .insertInto('usage_daily')
      .values(rows.slice(start, start + ROWS_A_STATEMENT))
      .onConflict((conflict) =>
        conflict
          .columns(['tenant', 'day', 'key_id', 'service'])
          .doUpdateSet((eb) =>
            Object.fromEntries(
              SUMS.map((sum) => [sum, eb(`usage_daily.${sum}`, '+', eb.ref(`excluded.${sum}`))]),
            ),
          ),
      )
      .execute();
  }
}

/** Counts calls by UTC day, tenant, key and helper; several gateways on one database add to the same rows. */
export function createUsageMeter(options: UsageMeterOptions): UsageMeter {
  const { writer, logger, retentionDays = 400, maxRows } = options;
  const access = createAccess<UsageTables>(options.db);
  let tally = createTally(maxRows);
  let overflowed = false;
  let prunedOn: string | undefined;
  let pruning = Promise.resolve();

  const source: BatchSource = {
    drain() {
      if (tally.size === 0) return undefined;
      const rows = tally.rows();
      tally = createTally(maxRows);
      overflowed = false;
      return { write: (trx) => addRows(trx, rows) };
    },
  };
  writer.add(source);

  async function prune(): Promise<void> {
    const today = dayOf(Date.now());
    if (prunedOn === today) return;
    try {
      await pruneUsage(access, retentionDays, Date.now());
      prunedOn = today;
    } catch (error) {
      logger.warn({ err: error }, 'old usage figures could not be deleted; tried again in an hour');
    }
  }
  pruning = prune();
  const timer = setInterval(() => {
    pruning = prune();
  }, HOUR_MS);
  timer.unref();

  return {
    record(call) {
      if (tally.add(call) || overflowed) return;
      overflowed = true;
      logger.error(
        {},
        'too many rows of usage are waiting for the database; calls on further rows go uncounted',
      );
    },
    usage: (tenant, query) => readUsage(access, tenant, query),
    async close() {
      clearInterval(timer);
      await Promise.all([pruning, writer.flush()]);
    },
  };
}
