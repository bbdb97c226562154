import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access } from '../database/access.js';
import type { BatchSource, BatchWriter } from '../database/batch-writer.js';
import { requireValid } from '../errors.js';
import { createUsageInput, type UsageQuery } from './query.js';
import { readUsage, type UsagePage } from './report.js';
import type { UsageTable, UsageTables } from './tables.js';
import { createTally, type UsageRecord } from './tally.js';

export interface UsageMeter {
  /** Counts a call. Synchronous and in memory: it costs the request about a microsecond. */
  record(call: UsageRecord): void;
  /** A tenant's figures; at most one flush interval behind. Rejects with `invalid_input` naming what is wrong with the query. */
  usage(tenant: string, query?: UsageQuery): Promise<UsagePage>;
  /** Writes what is left; the batch writer is its owner's to close. */
  close(): Promise<void>;
}

export interface UsageMeterOptions {
  access: Access<UsageTables>;
  writer: BatchWriter;
  logger: Pick<Logger, 'error'>;
  /** Rows in memory at most while the database is away; default 50,000. */
  maxRows?: number;
}

const sums = [
  'calls',
  'errors_client',
  'errors_limited',
  'errors_server',
  'bytes_in',
  'bytes_out',
  'cpu_ms',
] as const satisfies (keyof UsageTable)[];

// 500 rows of 11 values stay far below the 32,766 parameters that SQLite takes.
const rowsAStatement = 500;

async function addRows(trx: Transaction<UsageTables>, rows: UsageTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsAStatement) {
    await trx
      .insertInto('usage_daily')
      .values(rows.slice(start, start + rowsAStatement))
      .onConflict((conflict) =>
        conflict
          .columns(['tenant', 'day', 'key_id', 'service'])
          .doUpdateSet((eb) =>
            Object.fromEntries(
              sums.map((sum) => [sum, eb(`usage_daily.${sum}`, '+', eb.ref(`excluded.${sum}`))]),
            ),
          ),
      )
      .execute();
  }
}

/** Counts calls by UTC day, tenant, key and helper; several gateways on one database add to the same rows. */
export function createUsageMeter(options: UsageMeterOptions): UsageMeter {
  const { access, writer, logger, maxRows } = options;
  const input = createUsageInput();
  let tally = createTally(maxRows);
  let overflowed = false;

  const source: BatchSource = {
    drain() {
      if (tally.size === 0) return undefined;
      const rows = tally.rows();
      tally = createTally(maxRows);
      overflowed = false;
      return { write: (trx) => addRows(trx.withTables<UsageTables>(), rows) };
    },
  };
  writer.add(source);

  return {
    record(call) {
      if (tally.add(call) || overflowed) return;
      overflowed = true;
      logger.error(
        {},
        'too many rows of usage are waiting for the database; calls on further rows go uncounted',
      );
    },
    async usage(tenant, query = {}) {
      return readUsage(access, tenant, requireValid(input.check(query)));
    },
    async close() {
      await writer.flush();
    },
  };
}
