import { performance } from 'node:perf_hooks';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { BatchSource, PendingWrite } from '../database/batch-writer.js';
import type { Access, DatabaseKind } from '../database/database.js';
import type { Prune } from '../database/prune-daily.js';
import { givenRows, rowsPerTransaction, slices, sortYielding, visitYielding } from '../database/rows.js';

/** Calls that count against a tenant's quota, by calendar month. */
interface QuotaRow {
  tenant: string;
  /** UTC, `YYYY-MM`. */
  month: string;
  used: number;
}

export type QuotaTables = { quota_use: QuotaRow };

/** One tenant's calls of one month, as far as this gateway knows them. */
export interface QuotaAccount {
  readonly tenant: string;
  readonly month: string;
  /** Calls charged: the database's sum at the last look, and this gateway's since. */
  charged(): number;
  /** Calls charged and calls under way here. */
  used(): number;
  /** Begins a call; to be followed by one `charge` or `release`. */
  hold(): void;
  charge(): void;
  release(): void;
  /** Notes that a call was refused. Whether calls under way have what it lacked, here or elsewhere, and may still give it back. */
  refuse(limit: number): boolean;
}

/** Keeps accounts in memory and their sums in the database, as one more source of the batch writer. */
export interface QuotaLedger extends BatchSource {
  /** Reads the account's sum once; where the database does not answer in time, it is read later. */
  open(tenant: string, month: string): Promise<QuotaAccount>;
}

interface LedgerEntry extends QuotaAccount {
  total: number;
  flushing: number;
  pending: number;
  held: number;
  /** Since when every call was refused that asked. */
  refusedSince: number | undefined;
  loaded: boolean;
  loading: Promise<void> | undefined;
  /** A call has waited for `loading` in vain; no further one does. */
  late: boolean;
  /** Opened since the last batch but one: a call may be about to hold it. */
  recent: boolean;
}

/** What a first call of the month waits for a database that does not answer. */
const loadMs = 250;
/** What calls elsewhere have reserved is given back in this time, or is never: a process that was killed gives nothing back. */
const reservedMs = 60_000;
/** An account whose sum could not be read is not tried again with every call. */
const retryMs = 1000;

function createEntry(tenant: string, month: string, onCharge: (entry: LedgerEntry) => void): LedgerEntry {
  return {
    tenant,
    month,
    total: 0,
    flushing: 0,
    pending: 0,
    held: 0,
    refusedSince: undefined,
    loaded: false,
    loading: undefined,
    late: false,
    recent: true,
    charged() {
      return this.total + this.flushing + this.pending;
    },
    used() {
      return this.charged() + this.held;
    },
    hold() {
      this.held += 1;
      this.refusedSince = undefined;
    },
    charge() {
      this.held -= 1;
      this.pending += 1;
      onCharge(this);
    },
    release() {
      this.held -= 1;
    },
    refuse(limit) {
      this.refusedSince ??= performance.now();
      const mayCome = this.held > 0 || performance.now() - this.refusedSince < reservedMs;
      return this.charged() < limit && mayCome;
    },
  };
}

/** Only finished calls reach the database, so its sum never has to be taken back. */
export function createQuotaLedger(access: Access<QuotaTables>): QuotaLedger {
  /** By month, then by tenant. */
  const months = new Map<string, Map<string, LedgerEntry>>();
  let current = '';
  /** Entries that were charged since the last batch. */
  let due = new Set<LedgerEntry>();
  const noteCharge = (entry: LedgerEntry) => void due.add(entry);

  async function load(entry: LedgerEntry): Promise<void> {
    try {
      // A batch may have been written while this was read: the sum only grows, so the larger one is the newer.
      entry.total = Math.max(entry.total, await readQuotaUse(access, entry.tenant, entry.month));
      entry.loaded = true;
      entry.loading = undefined;
    } catch {
      setTimeout(() => {
        entry.loading = undefined;
      }, retryMs).unref();
    }
  }

  function entryOf(tenant: string, month: string): LedgerEntry {
    const entries = months.get(month) ?? new Map<string, LedgerEntry>();
    months.set(month, entries);
    const entry = entries.get(tenant) ?? createEntry(tenant, month, noteCharge);
    entries.set(tenant, entry);
    entry.recent = true;
    current = month;
    return entry;
  }

  async function forgetOtherMonths(): Promise<void> {
    for (const [month, entries] of months) {
      if (month === current) continue;
      await visitYielding(entries.values(), (entry) => {
        const busy = entry.recent || entry.pending + entry.flushing + entry.held > 0;
        if (!busy) entries.delete(entry.tenant);
        entry.recent = false;
      });
      if (entries.size === 0) months.delete(month);
    }
  }

  function pieceOf(entries: LedgerEntry[]): PendingWrite {
    for (const entry of entries) {
      entry.flushing = entry.pending;
      entry.pending = 0;
    }
    const rows = entries.map(({ tenant, month, flushing }) => ({ tenant, month, used: flushing }));
    let sums = new Map<string, number>();
    return {
      async write(trx) {
        const found = await addQuotaUse(trx.withTables<QuotaTables>(), access.kind, rows);
        sums = new Map(found.map(({ tenant, month, used }) => [`${month} ${tenant}`, used]));
      },
      committed(written) {
        for (const entry of entries) {
          const sum = written ? sums.get(`${entry.month} ${entry.tenant}`) : undefined;
          entry.total = Math.max(entry.total + entry.flushing, sum ?? 0);
          entry.flushing = 0;
        }
      },
    };
  }

  async function* pieces(drained: Set<LedgerEntry>): AsyncGenerator<PendingWrite> {
    await forgetOtherMonths();
    // Every gateway writes in the same order, so that two of them never wait for each other's rows.
    for (const entries of slices(await sortYielding([...drained], byTenant), rowsPerTransaction)) {
      yield pieceOf(entries);
    }
  }

  return {
    async open(tenant, month) {
      const entry = entryOf(tenant, month);
      if (entry.loaded) return entry;
      entry.loading ??= load(entry);
      if (entry.late) return entry;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          entry.late = true;
          resolve();
        }, loadMs);
      });
      return Promise.race([entry.loading, late]).then(() => {
        clearTimeout(timer);
        return entry;
      });
    },
    drain() {
      const drained = due;
      due = new Set();
      return pieces(drained);
    },
  };
}

function byTenant(a: LedgerEntry, b: LedgerEntry): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  return a.month < b.month ? -1 : 1;
}

const dayMs = 86_400_000;
/** The current month's sums are needed whatever else is deleted; two months cover every time zone's idea of it. */
const fewestDays = 62;

/** Calls that a tenant has been charged for in a month, by all gateways together. */
export async function readQuotaUse(
  { run }: Access<QuotaTables>,
  tenant: string,
  month: string,
): Promise<number> {
  const row = await run((db) =>
    db
      .selectFrom('quota_use')
      .select('used')
      .where('tenant', '=', tenant)
      .where('month', '=', month)
      .executeTakeFirst(),
  );
  return row?.used ?? 0;
}

/** Adds to what is there and returns the new sums, other gateways' calls included. */
async function addQuotaUse(
  trx: Transaction<QuotaTables>,
  kind: DatabaseKind,
  rows: QuotaRow[],
): Promise<QuotaRow[]> {
  const given = givenRows(
    kind,
    rows.map(({ tenant, month, used }) => [tenant, month, used]),
  );
  // `where true` tells SQLite that what follows is no join's condition.
  const { rows: sums } = await sql<QuotaRow>`
    insert into quota_use (tenant, month, used)
    select value ->> 0, value ->> 1, cast(value ->> 2 as bigint) from ${given} where true
    on conflict (tenant, month) do update set used = quota_use.used + excluded.used
    returning tenant, month, used
  `.execute(trx);
  return sums;
}

/** Deletes the sums of months that ended more than `days` days ago. */
export function pruneQuotas(days: number): Prune {
  return async function pruneQuotas(trx, now, most) {
    const oldest = new Date(now - Math.max(days, fewestDays) * dayMs).toISOString().slice(0, 7);
    const { numDeletedRows } = await trx
      .withTables<QuotaTables>()
      .deleteFrom('quota_use')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('tenant', 'month'),
          'in',
          selectFrom('quota_use')
            .select(['tenant', 'month'])
            .where('month', '<', oldest)
            .limit(most)
            .$asTuple('tenant', 'month'),
        ),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  };
}

/** Makes the table of what tenants have used of their quotas. No foreign keys: as usage figures, it outlives the tenants. */
export async function createQuotaTable(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table quota_use (
      tenant text not null,
      month text not null,
      used bigint not null,
      constraint quota_use_pk primary key (tenant, month)
    )
  `.execute(db);
}
