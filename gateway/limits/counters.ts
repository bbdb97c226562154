import { performance } from 'node:perf_hooks';
import { type Kysely, sql, type Transaction } from 'kysely';
import { type RateLimiterAbstract, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { PendingWrite } from '../database/batch-writer.js';
import type { Access, DatabaseKind } from '../database/database.js';
import { type Prune, pruneTable } from '../database/prune-daily.js';
import { givenRows, rowsPerTransaction, slices, sortYielding, visitYielding } from '../database/rows.js';

/** One window's state after a call: what is left of its limit, and the milliseconds until the window ends. */
export interface WindowState {
  remaining: number;
  resetMs: number;
}

export interface RateState {
  allowed: boolean;
  second: WindowState;
  /** There once the second's share is used up and the tenant has a burst. */
  burst?: WindowState;
}

/** Counts calls by tenant in windows that begin with the first call in them. */
export interface RateGate {
  consume(tenant: string, rate: number, burst: number): Promise<RateState>;
}

/** One count an account and month, shared by all gateways. Throws what the client throws. */
export interface SharedQuota {
  /** Adds `amount`, of 0 as well, where less than `limit` is used; counts from `floor` where less is known there. */
  reserve(
    name: string,
    limit: number,
    floor: number,
    amount: number,
  ): Promise<{ granted: boolean; used: number }>;
  /** Gives a call back, but not below `floor`. */
  release(name: string, floor: number): Promise<void>;
}

/** Rates and quotas that several processes or gateways count together. */
export interface SharedCounts {
  /** Runs an operation. Undefined where the counts cannot be reached: the caller goes on without them. */
  run<T>(operation: () => Promise<T>): Promise<T | undefined>;
  rate: RateGate;
  quota: SharedQuota;
  /** What is allowed of rate and burst while they cannot be reached, above 0 to 1. */
  outageShare: number;
  close(): void;
}

/** Length of the windows of `rate` and `burst`, in seconds. */
export const rateWindowS = 1;
export const burstWindowS = 10;

/** The limiters only count: each tenant has limits of its own, while a limiter of the library has one for all its keys. */
export const unboundedPoints = Number.MAX_SAFE_INTEGER;

function windowOf({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number, windowS: number) {
  return {
    remaining: Math.max(0, limit - consumedPoints),
    // The library gives the rest of a window by the wall clock, which may have been set back since the window began.
    resetMs: Math.min(Math.max(msBeforeNext, 0), windowS * 1000),
  };
}

/**
 * Allows `rate` calls in a second, and `burst` more in ten seconds. Fixed windows rather than a token bucket, so that
 * a second's limit is never passed by what a bucket refills meanwhile. A refused call is counted but does not
 * lengthen its window.
 *
 * @param second counts in windows of `rateWindowS`
 * @param reserve counts in windows of `burstWindowS`
 */
export function createRateGate(second: RateLimiterAbstract, reserve: RateLimiterAbstract): RateGate {
  async function consumeBurst(tenant: string, burst: number, window: WindowState): Promise<RateState> {
    const extra = await reserve.consume(tenant);
    const allowed = extra.consumedPoints <= burst;
    return { allowed, second: window, burst: windowOf(extra, burst, burstWindowS) };
  }

  return {
    consume: (tenant, rate, burst) =>
      second.consume(tenant).then((count) => {
        const window = windowOf(count, rate, rateWindowS);
        const allowed = count.consumedPoints <= rate;
        return allowed || burst === 0 ? { allowed, second: window } : consumeBurst(tenant, burst, window);
      }),
  };
}

/**
 * Counts in this process. The library ends a window by a timer and by the wall clock, whichever is first: a clock set
 * back does not lengthen a window, one set forward ends the running window early, once.
 */
export function createMemoryRate(): RateGate {
  // Each has a store of its own, and a prefix would be a string to make and hash with every call.
  const limiter = (duration: number) =>
    new RateLimiterMemory({ keyPrefix: '', duration, points: unboundedPoints });
  return createRateGate(limiter(rateWindowS), limiter(burstWindowS));
}

/** What counts against a quota or a CPU budget, by calendar month. */
interface QuotaRow {
  /** The account: the id of a tenant or key for its calls, and `<id> cpu` for its CPU time in microseconds. */
  tenant: string;
  /** UTC, `YYYY-MM`. */
  month: string;
  used: number;
}

export type QuotaTables = { quota_use: QuotaRow };

/** What a first call of the month waits for a database that does not answer. */
const loadMs = 250;
/** What calls elsewhere have reserved is given back in this time, or is never: a process that was killed gives nothing back. */
const reservedMs = 60_000;
/** An account whose sum could not be read is not tried again with every call. */
const retryMs = 1000;

/** One account of one month, as far as this gateway knows it: calls, or microseconds. */
export class QuotaAccount {
  /** Its name: see `QuotaRow`. */
  readonly tenant: string;
  readonly month: string;
  /** The database's sum at the last look, what came since that is being written, and what is not. */
  total = 0;
  flushing = 0;
  pending = 0;
  held = 0;
  loaded = false;
  loading: Promise<void> | undefined;
  /** A call has waited for `loading` in vain; no further one does. */
  late = false;
  /** Opened since the last batch but one: a call may be about to hold it. */
  recent = true;
  readonly #onCharge: (account: QuotaAccount) => void;
  /** Since when every call was refused that asked. */
  #refusedSince: number | undefined;

  constructor(tenant: string, month: string, onCharge: (account: QuotaAccount) => void) {
    this.tenant = tenant;
    this.month = month;
    this.#onCharge = onCharge;
  }

  /** Its name where it is shared. */
  get name(): string {
    return `${this.tenant}:${this.month}`;
  }

  charged(): number {
    return this.total + this.flushing + this.pending;
  }

  /** Calls charged and calls under way here. */
  used(): number {
    return this.charged() + this.held;
  }

  /** Begins a call; to be followed by one `charge` or `release`. */
  hold(): void {
    this.held += 1;
    this.#refusedSince = undefined;
  }

  charge(): void {
    this.held -= 1;
    this.add(1);
  }

  /** Charges what was not held before. */
  add(amount: number): void {
    this.pending += amount;
    this.#onCharge(this);
  }

  release(): void {
    this.held -= 1;
  }

  /** Notes that a call was refused. Whether calls under way have what it lacked, here or elsewhere, and may still give it back. */
  refuse(limit: number): boolean {
    this.#refusedSince ??= performance.now();
    const mayCome = this.held > 0 || performance.now() - this.#refusedSince < reservedMs;
    return this.charged() < limit && mayCome;
  }
}

export type QuotaLedger = ReturnType<typeof createQuotaLedger>;

/**
 * Keeps accounts in memory and their sums in the database, as one more source of the batch writer. Only finished calls reach the
 * database, so its sum never has to be reduced.
 *
 * @param suffix ends the names of accounts there; here they go by id, as hashing a new string costs a call a microsecond
 */
export function createQuotaLedger(access: Access<QuotaTables>, suffix = '') {
  /** By month, then by the id of the tenant or key. */
  const months = new Map<string, Map<string, QuotaAccount>>();
  let current = '';
  let due = new Set<QuotaAccount>();

  async function load(account: QuotaAccount): Promise<void> {
    try {
      // A batch may have been written while this was read: the sum only grows, so the larger one is the newer.
      const sum = await readQuotaUse(access, account.tenant, account.month);
      account.total = Math.max(account.total, sum);
      account.loaded = true;
      account.loading = undefined;
    } catch {
      setTimeout(() => {
        account.loading = undefined;
      }, retryMs).unref();
    }
  }

  function accountOf(id: string, month: string): QuotaAccount {
    const accounts = months.get(month) ?? new Map<string, QuotaAccount>();
    months.set(month, accounts);
    const account =
      accounts.get(id) ?? new QuotaAccount(id + suffix, month, (charged) => void due.add(charged));
    accounts.set(id, account);
    account.recent = true;
    current = month;
    return account;
  }

  async function forgetOtherMonths(): Promise<void> {
    for (const [month, accounts] of months) {
      if (month === current) continue;
      await visitYielding(accounts, ([id, account]) => {
        const busy = account.recent || account.pending + account.flushing + account.held > 0;
        if (!busy) accounts.delete(id);
        account.recent = false;
      });
      if (accounts.size === 0) months.delete(month);
    }
  }

  function writeOf(accounts: QuotaAccount[]): PendingWrite {
    for (const account of accounts) {
      account.flushing = account.pending;
      account.pending = 0;
    }
    const rows = accounts.map(({ tenant, month, flushing }) => ({ tenant, month, used: flushing }));
    let sums = new Map<string, number>();
    return {
      async write(trx) {
        const found = await addQuotaUse(trx.withTables<QuotaTables>(), access.kind, rows);
        sums = new Map(found.map(({ tenant, month, used }) => [`${month} ${tenant}`, used]));
      },
      committed(written) {
        for (const account of accounts) {
          const sum = written ? sums.get(`${account.month} ${account.tenant}`) : undefined;
          account.total = Math.max(account.total + account.flushing, sum ?? 0);
          account.flushing = 0;
        }
      },
    };
  }

  async function* writes(charged: Set<QuotaAccount>): AsyncGenerator<PendingWrite> {
    await forgetOtherMonths();
    // Every gateway writes in the same order, so that two of them never wait for each other's rows.
    for (const accounts of slices(await sortYielding([...charged], byTenant), rowsPerTransaction)) {
      yield writeOf(accounts);
    }
  }

  return {
    /** The account, whose sum may not be known yet. */
    account: accountOf,
    /** Reads the account's sum once; where the database does not answer in time, it is read later. */
    async open(id: string, month: string): Promise<QuotaAccount> {
      const account = accountOf(id, month);
      if (account.loaded) return account;
      account.loading ??= load(account);
      if (account.late) return account;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          account.late = true;
          resolve();
        }, loadMs);
      });
      await Promise.race([account.loading, late]);
      clearTimeout(timer);
      return account;
    },
    drain() {
      const charged = due;
      due = new Set();
      return writes(charged);
    },
  };
}

function byTenant(a: QuotaAccount, b: QuotaAccount): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  return a.month < b.month ? -1 : 1;
}

const dayMs = 86_400_000;
/** The current month's sums are needed whatever else is deleted; two months cover every time zone's idea of it. */
export const fewestDays = 62;

/** What an account has been charged in a month, by all gateways together. */
export async function readQuotaUse({ run }: Access<QuotaTables>, tenant: string, month: string) {
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
  const values = rows.map(({ tenant, month, used }) => [tenant, month, used]);
  const given = givenRows(kind, values);
  // `where true` shows SQLite that what follows is no join's condition.
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
  const oldest = (now: number) =>
    new Date(now - Math.max(days, fewestDays) * dayMs).toISOString().slice(0, 7);
  return pruneTable('quota_use', 'tenant, month', (now) => sql`month < ${oldest(now)}`);
}

/** Makes the table of what was used of quotas and budgets. No foreign keys: as usage figures, it outlives the tenants. */
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
