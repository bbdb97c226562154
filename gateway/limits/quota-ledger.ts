import { performance } from 'node:perf_hooks';
import type { Now } from '../after.js';
import type { Access } from '../database/access.js';
import type { BatchSource, PendingWrite } from '../database/batch-writer.js';
import { sortInTurns, visitInTurns } from '../database/in-turns.js';
import { rowsAPiece } from '../database/rows-a-piece.js';
import { slices } from '../database/slices.js';
import { addQuotaUse, readQuotaUse } from './quota-store.js';
import type { QuotaTables } from './tables.js';

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
  open(tenant: string, month: string): Now<QuotaAccount>;
}

interface Entry extends QuotaAccount {
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

function createEntry(tenant: string, month: string, onCharge: (entry: Entry) => void): Entry {
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
  const months = new Map<string, Map<string, Entry>>();
  let current = '';
  /** Entries that were charged since the last batch. */
  let due = new Set<Entry>();
  const noteCharge = (entry: Entry) => void due.add(entry);

  async function load(entry: Entry): Promise<void> {
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

  function entryOf(tenant: string, month: string): Entry {
    const entries = months.get(month) ?? new Map<string, Entry>();
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
      await visitInTurns(entries.values(), (entry) => {
        const busy = entry.recent || entry.pending + entry.flushing + entry.held > 0;
        if (!busy) entries.delete(entry.tenant);
        entry.recent = false;
      });
      if (entries.size === 0) months.delete(month);
    }
  }

  function pieceOf(entries: Entry[]): PendingWrite {
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

  async function* pieces(drained: Set<Entry>): AsyncGenerator<PendingWrite> {
    await forgetOtherMonths();
    // Every gateway writes in the same order, so that two of them never wait for each other's rows.
    for (const entries of slices(await sortInTurns([...drained], byTenant), rowsAPiece)) {
      yield pieceOf(entries);
    }
  }

  return {
    open(tenant, month) {
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

function byTenant(a: Entry, b: Entry): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  return a.month < b.month ? -1 : 1;
}
