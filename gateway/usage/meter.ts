import type { Logger } from 'pino';
import type { BatchWriter, PendingWrite } from '../database/batch-writer.js';
import type { Access } from '../database/database.js';
import { rowsPerTransaction, slices, sortYielding } from '../database/rows.js';
import { requireValid } from '../errors.js';
import { bucketOf } from './histogram.js';
import { createUsageInput, readUsage, type UsagePage, type UsageQuery } from './report.js';
import { createRequestLog, type RequestLimits } from './requests.js';
import {
  addUsageRows,
  compareUsageRows,
  dayMs,
  dayOf,
  noSums,
  type Sums,
  type TallyRow,
  type UsageRecord,
  type UsageTables,
} from './store.js';

export type UsageMeter = ReturnType<typeof createUsageMeter>;

interface UsageMeterOptions {
  access: Access<UsageTables>;
  writer: BatchWriter;
  logger: Pick<Logger, 'error'>;
  /** Which calls are stored one by one; by default none. */
  requests?: RequestLimits;
  /** Rows in memory at most while the database is away; default 200,000. */
  maxRows?: number;
}

/** Counts calls by UTC day, tenant, key and helper; several gateways on one database add to the same rows. */
export function createUsageMeter({ access, writer, logger, requests, maxRows }: UsageMeterOptions) {
  const input = createUsageInput();
  const log = createRequestLog(access, requests);
  let tally = createTally(maxRows);
  let overflowed = false;

  // In one order everywhere: gateways that write the same rows then lock them one after the other, and rows that lie beside each
  // other on SQLite's pages are written together, which costs it half.
  async function* writes(rows: TallyRow[]): AsyncGenerator<PendingWrite> {
    for (const batch of slices(await sortYielding(rows, compareUsageRows), rowsPerTransaction)) {
      yield { write: (trx) => addUsageRows(trx.withTables<UsageTables>(), access.kind, batch) };
    }
  }

  writer.add({
    drain() {
      const rows = tally.rows();
      tally = createTally(maxRows);
      overflowed = false;
      return writes(rows);
    },
  });
  writer.add(log);

  return {
    /** Counts a call and stores it as one of the last. Synchronous and in memory: it costs the request about a microsecond. */
    record(call: UsageRecord): void {
      log.record(call);
      if (tally.add(call) || overflowed) return;
      overflowed = true;
      const message =
        'too many rows of usage are waiting for the database; calls on further rows go uncounted';
      logger.error({}, message);
    },
    /** Stores a call that is counted elsewhere. */
    recordRequest: log.record,
    /** A tenant's figures; at most one flush interval behind. Rejects with `invalid_input` naming what is wrong with the query. */
    async usage(tenant: string, query: UsageQuery = {}): Promise<UsagePage> {
      return readUsage(access, tenant, requireValid(input.check(query)));
    },
    /** Writes what is left; the batch writer is its owner's to close. */
    async close(): Promise<void> {
      await writer.flush();
    },
  };
}

// A value that the database refuses would hold up its whole batch for ever.
function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

function errorClass(status: number): 'errors_client' | 'errors_limited' | 'errors_server' | undefined {
  if (status === 429) return 'errors_limited';
  if (status >= 500) return 'errors_server';
  if (status >= 400) return 'errors_client';
  return undefined;
}

function addCall(
  sums: Sums,
  record: UsageRecord,
  failed: ReturnType<typeof errorClass>,
  bucket: number,
): void {
  sums.calls += 1;
  sums.bytes_in += Math.trunc(amount(record.bytesIn));
  sums.bytes_out += Math.trunc(amount(record.bytesOut));
  sums.cpu_ms += amount(record.cpuMs);
  if (failed) sums[failed] += 1;
  (sums.buckets[bucket] as number) += 1;
}

/** Calls summed up by day, tenant, key, helper and error, in at most `maxRows` rows: it grows with keys × helpers, not with calls. */
export function createTally(maxRows = 200_000) {
  const rows = new Map<string, TallyRow>();
  let count = 0;
  let lastDay = Number.NaN;
  let lastName = '';

  // To name a day costs more than all the rest of a record.
  function nameDay(at: number): string {
    const day = Math.floor(at / dayMs);
    if (day !== lastDay) {
      lastDay = day;
      lastName = dayOf(at);
    }
    return lastName;
  }

  function failuresOf(row: TallyRow, code: string): Sums | undefined {
    row.failures ??= new Map();
    let sums = row.failures.get(code);
    if (!sums && count < maxRows) {
      count += 1;
      sums = noSums();
      row.failures.set(code, sums);
    }
    return sums;
  }

  return {
    /** False where a further row would pass the limit; calls on known rows always count. */
    add(record: UsageRecord): boolean {
      const { tenant, key, service } = record;
      const day = nameDay(record.at ?? Date.now());
      const name = `${tenant}\n${day}\n${key}\n${service}`;
      let row = rows.get(name);
      if (!row) {
        if (count >= maxRows) return false;
        count += 1;
        row = { tenant, day, key, service, sums: noSums() };
        rows.set(name, row);
      }
      const bucket = bucketOf(record.ms);
      const failed = errorClass(record.status);
      addCall(row.sums, record, failed, bucket);
      if (!failed) return true;
      const failures = failuresOf(row, record.code);
      if (failures) addCall(failures, record, failed, bucket);
      return failures !== undefined;
    },
    rows: (): TallyRow[] => [...rows.values()],
  };
}
