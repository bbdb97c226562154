import type { Logger } from 'pino';
import type { Access } from '../database/access.js';
import type { BatchSource, BatchWriter, PendingWrite } from '../database/batch-writer.js';
import { sortInTurns } from '../database/in-turns.js';
import { rowsAPiece } from '../database/rows-a-piece.js';
import { slices } from '../database/slices.js';
import { requireValid } from '../errors.js';
import { addRows, compareRows } from './add-rows.js';
import { createUsageInput, type UsageQuery } from './query.js';
import { readUsage, type UsagePage } from './report.js';
import type { UsageTables } from './tables.js';
import { createTally, type Tally, type UsageRecord } from './tally.js';

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
  /** Rows in memory at most while the database is away; default 200,000. */
  maxRows?: number;
}

/** Counts calls by UTC day, tenant, key and helper; several gateways on one database add to the same rows. */
export function createUsageMeter(options: UsageMeterOptions): UsageMeter {
  const { access, writer, logger, maxRows } = options;
  const input = createUsageInput();
  let tally = createTally(maxRows);
  let overflowed = false;

  // In one order everywhere: gateways that write the same rows then lock them one after the other, and rows that lie beside each
  // other on SQLite's pages are written together, which costs it half.
  async function* pieces(drained: Tally): AsyncGenerator<PendingWrite> {
    for (const rows of slices(await sortInTurns(drained.rows(), compareRows), rowsAPiece)) {
      yield { write: (trx) => addRows(trx.withTables<UsageTables>(), access.kind, rows) };
    }
  }

  const source: BatchSource = {
    drain() {
      const drained = tally;
      tally = createTally(maxRows);
      overflowed = false;
      return pieces(drained);
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
