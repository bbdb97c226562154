import type { Access } from '../database/access.js';
import type { BatchSource } from '../database/batch-writer.js';
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
}

/** Keeps accounts in memory and their sums in the database, as one more source of the batch writer. */
export interface QuotaLedger extends BatchSource {
  /** Reads the account's sum once; where the database does not answer in time, it is read later. */
  open(tenant: string, month: string): QuotaAccount | Promise<QuotaAccount>;
}

interface Entry extends QuotaAccount {
  total: number;
  flushing: number;
  pending: number;
  held: number;
  loaded: boolean;
  loading: Promise<void> | undefined;
  /** A call has waited for `loading` in vain; no further one does. */
  late: boolean;
  /** Opened since the last batch but one: a call may be about to hold it. */
  recent: boolean;
}

/** What a first call of the month waits for a database that does not answer. */
const loadMs = 250;
/** An account whose sum could not be read is not tried again with every call. */
const retryMs = 1000;

function createEntry(tenant: string, month: string): Entry {
  return {
    tenant,
    month,
    total: 0,
    flushing: 0,
    pending: 0,
    held: 0,
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
    },
    charge() {
      this.held -= 1;
      this.pending += 1;
    },
    release() {
      this.held -= 1;
    },
  };
}

/** Only finished calls reach the database, so its sum never has to be taken back. */
export function createQuotaLedger(access: Access<QuotaTables>): QuotaLedger {
  const entries = new Map<string, Entry>();
  let current = '';

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
    const name = `${month} ${tenant}`;
    const entry = entries.get(name) ?? createEntry(tenant, month);
    entries.set(name, entry);
    entry.recent = true;
    current = month;
    return entry;
  }

  function forgetOtherMonths(): void {
    for (const [name, entry] of entries) {
      const busy = entry.recent || entry.pending + entry.flushing + entry.held > 0;
      if (entry.month !== current && !busy) entries.delete(name);
      entry.recent = false;
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
      forgetOtherMonths();
      const due = [...entries.values()].filter((entry) => entry.pending > 0);
      if (due.length === 0) return undefined;
      // Every gateway writes in the same order, so that two of them never wait for each other's rows.
      due.sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
      for (const entry of due) {
        entry.flushing = entry.pending;
        entry.pending = 0;
      }
      const rows = due.map(({ tenant, month, flushing }) => ({ tenant, month, used: flushing }));
      let sums = new Map<string, number>();
      return {
        async write(trx) {
          const found = await addQuotaUse(trx.withTables<QuotaTables>(), rows);
          sums = new Map(found.map(({ tenant, month, used }) => [`${month} ${tenant}`, used]));
        },
        committed(written) {
          for (const entry of due) {
            const sum = written ? sums.get(`${entry.month} ${entry.tenant}`) : undefined;
            entry.total = Math.max(entry.total + entry.flushing, sum ?? 0);
            entry.flushing = 0;
          }
        },
      };
    },
  };
}
