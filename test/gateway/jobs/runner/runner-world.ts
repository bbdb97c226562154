import { pino } from 'pino';
import { database as databaseStore, StoreError } from '../../../../gateway/database/store-error.js';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { createRunner } from '../../../../gateway/jobs/runner/runner.js';
import type { JobStore } from '../../../../gateway/jobs/store/job-store.js';
import type { EndedItem, StartedItem } from '../../../../gateway/jobs/store/transitions.js';
import { noKeyLimits, noLimits } from '../../../../gateway/keys/model.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import type { Metrics } from '../../../../gateway/observability/metrics.js';
import type { Helper } from '../../../../gateway/plugins/registry.js';
import { createTenantHelpers } from '../../../../gateway/recipes/tenant-helpers.js';
import { jsonAnswer } from '../../../../pool/answer.js';
import { PoolError } from '../../../../pool/errors.js';
import type { Pool } from '../../../../pool/pool.js';
import type { Task, TaskOutcome } from '../../../../pool/task.js';

/** A task that runs in the pool of a test until the test ends it. */
interface RunningTask {
  tenant: string;
  /** Ends it after so many milliseconds, as the pool would have measured them; with so many bytes, or JSON. */
  end(ms?: number, bytes?: number): void;
  fail(error: unknown): void;
}

export type RunnerWorld = ReturnType<typeof createRunnerWorld>;

export interface WorldOptions {
  threads?: number;
  /** Brings what the items of the helper `fetch` name by `url`, as so many bytes. */
  bring?: (url: string) => Promise<number>;
  /** Called before a result is put; what it throws keeps it from being put. */
  put?: (name: string) => void;
  mostResultBytes?: number;
  jobs?: MemoryJobs;
  lackingMs?: number;
  observeItem?: Metrics['observeItem'];
  limiter?: Pick<Limiter, 'take'>;
}

const made = new Map<number, Uint8Array>();

/** So many bytes, which nothing changes: made once, for some are many. */
function zeros(count: number): Uint8Array {
  const bytes = made.get(count) ?? new Uint8Array(count);
  made.set(count, bytes);
  return bytes;
}

/** A runner over items in memory and a pool of which every task runs until the test ends it. */
export function createRunnerWorld({
  threads = 2,
  bring,
  put,
  mostResultBytes = 1e12,
  jobs = new MemoryJobs(),
  lackingMs,
  observeItem,
  limiter = { take: async () => ({ allowed: true, settle() {}, charge: () => ({}) }) },
}: WorldOptions = {}) {
  /** Tasks that run, oldest first. */
  const running: RunningTask[] = [];
  const results = new Map<string, Uint8Array>();
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void log.push(JSON.parse(line)) });
  const files = [{ field: 'file', parameter: 'url', kind: 'bytes' }];
  const helpers = new Map([
    ['work', helper('work')],
    ['fetch', helper('fetch', files)],
    ['act', helper('act', [], { effects: true, repeatable: false })],
    ['act-again', helper('act-again', [], { effects: true, repeatable: true })],
  ]);
  let closed = false;
  const pool = {
    ticket: (requester) => ({
      reserve: async () => undefined,
      cancelReservation() {},
      release() {},
      run: (_: Task) =>
        new Promise<TaskOutcome>((resolve, reject) => {
          if (closed) return reject(new PoolError('shutting_down', 'closed'));
          const leave = () => running.splice(running.indexOf(one), 1);
          const one: RunningTask = {
            tenant: requester.tenant,
            end(ms = 10, bytes = 0) {
              leave();
              const type = 'application/octet-stream';
              const made = { kind: 'bytes', type, bytes: zeros(bytes) };
              const value = bytes > 0 ? made : jsonAnswer({ done: true });
              resolve({ ok: true, value, ms } as unknown as TaskOutcome);
            },
            fail(error) {
              leave();
              reject(error);
            },
          };
          running.push(one);
        }),
    }),
    handBack() {
      closed = true;
    },
  } as Pick<Pool, 'ticket' | 'handBack'>;
  const runner = createRunner({
    ...{ store: jobs.store, queue: jobs.queue, pool, limiter, logger },
    helpers: createTenantHelpers(helpers),
    ...{ mostResultBytes, threads, lackingMs, observeItem },
    results: {
      get: async () => undefined,
      async put(name, bytes) {
        put?.(name);
        results.set(name, bytes);
      },
    },
    inboundBudget: { hold: () => () => undefined },
    inbound: { most: 1_000, bytes: 256e6 },
    retryPolicy: createRetryPolicy({ logger, firstMs: 1, longestMs: 5 }),
    keys: {
      verifyById: async (id) => {
        const tenant = id.slice('key_'.length);
        return {
          state: 'active',
          tenant: { id: tenant, name: tenant, limits: noLimits, weight: 1 },
          key: { id, label: null, scopes: null, limits: noKeyLimits },
        };
      },
    },
    limits: { rate: 0, burst: 0, monthlyQuota: null, inFlight: null, monthlyCpuMs: null },
    files: {
      check: (href: string) => ({ href }),
      cached: () => undefined,
      async bring({ href }: { href: string }, { signal }: { signal: AbortSignal }) {
        const aborted = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
        const bytes = zeros(await Promise.race([bring?.(href) ?? 0, aborted]));
        return { bytes, type: '', shared: false, release() {} };
      },
    } as never,
    bodyLimits: { maxTextBytes: 1e6, maxFileBytes: 1e6 },
    imageLimits: { maxPixels: 1e6, maxFrames: 10, maxBytes: 1e9 } as never,
    inline: {
      ...{ timeoutMs: 1_000, maxJsonBytes: 1e6, logger },
      helpers: { partsOf: () => ({ config: {} }) },
    } as never,
    reuse: { configOf: () => ({}) } as never,
  });
  return { jobs, runner, running, results, log, helpers };
}

function helper(id: string, files: object[] = [], more: object = {}): Helper {
  return {
    id,
    file: `${id}.mjs`,
    url: `file:///${id}.mjs`,
    declaration: { runs: 'pool', files, config: [], input: {}, cache: false, ...more } as never,
    parameters: {
      coerce: (_: string, value: string) => value,
      check: (input: Record<string, unknown>) => ({
        input,
        problems: input.wrong ? [{ field: 'wrong', problem: 'is wrong' }] : [],
      }),
      files: [],
    } as never,
  };
}

/** Items of tenants in memory, as a store and a queue have them. */
export class MemoryJobs {
  readonly ended: EndedItem[] = [];
  /** Attempts by `job index`. */
  readonly attempts = new Map<string, number>();
  /** In the order in which they were given back. */
  readonly released: { lease: Lease; delayMs: number | undefined }[] = [];
  /** Has every call rejected as if the database was away. */
  away = false;
  /** What the store says of a tenant's results. */
  resultBytes = 0;
  /** Calls of the queue's `lease`. */
  leases = 0;
  readonly #waiting = new Map<string, { job: string; index: number }[]>();
  readonly #items = new Map<string, StartedItem>();

  /** Adds items of a tenant's job, of the same name as the tenant. */
  add(tenant: string, count: number, input: object = {}, service = 'work'): void {
    const waiting = this.#waiting.get(tenant) ?? [];
    this.#waiting.set(tenant, waiting);
    for (let at = 0; at < count; at += 1) {
      const index = this.#items.size;
      this.#items.set(`${tenant} ${index}`, {
        ...{ job: tenant, index, attempt: 0, created_at: Date.now(), done: 0 },
        of: { tenant_id: tenant, key_id: `key_${tenant}`, service },
        input: { json: JSON.stringify(input), files: [] },
      });
      waiting.push({ job: tenant, index });
    }
  }

  /** Items that wait in the queue. */
  waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** What each item has come to: its error's code, or its state. */
  outcomes(): string[] {
    return this.ended.map(({ end }) => (end.state === 'failed' ? end.error.code : end.state));
  }

  #isEnded = (job: string, index: number) => this.ended.some((one) => one.job === job && one.index === index);

  #requireThere(): void {
    if (this.away) throw new StoreError(databaseStore, new Error('refused'));
  }

  readonly queue: Pick<JobQueue, 'lease' | 'extend' | 'done' | 'release'> & { leaseMs: number } = {
    leaseMs: 60_000,
    lease: async (tenant, most) => {
      this.leases += 1;
      this.#requireThere();
      const leased = (this.#waiting.get(tenant) ?? []).splice(0, most);
      return leased.map((ref) => ({ ...ref, tenant, token: 'token' }));
    },
    extend: async () => [],
    done: async () => this.#requireThere(),
    release: async (leases, delayMs) => {
      this.#requireThere();
      for (const lease of leases) {
        this.released.push({ lease, delayMs });
        this.#waiting.get(lease.tenant)?.unshift({ job: lease.job, index: lease.index });
      }
    },
  };

  readonly store: Pick<JobStore, 'start' | 'open' | 'handBack' | 'finish' | 'held'> = {
    start: async (refs) => {
      this.#requireThere();
      return refs.flatMap(({ job, index }) => {
        const name = `${job} ${index}`;
        const item = this.#items.get(name);
        if (!item || this.#isEnded(job, index)) return [];
        const attempt = (this.attempts.get(name) ?? 0) + 1;
        this.attempts.set(name, attempt);
        const done = this.ended.filter((one) => one.job === job && one.end.state === 'done').length;
        return [{ ...item, attempt, done }];
      });
    },
    held: async () => ({ inputs: 0, results: this.resultBytes, aResult: 0 }),
    open: async (refs) => {
      this.#requireThere();
      return refs.filter(({ job, index }) => !this.#isEnded(job, index));
    },
    handBack: async (started, { counted } = { counted: false }) => {
      this.#requireThere();
      for (const { job, index, attempt } of started)
        if (!counted) this.attempts.set(`${job} ${index}`, attempt - 1);
    },
    finish: async (all) => {
      this.#requireThere();
      const items = all.filter(({ job, index }) => !this.#isEnded(job, index));
      const before = all.filter((item) => item.again && this.ended.includes(item));
      this.ended.push(...items);
      return { items: [...items, ...before], jobs: [] };
    },
  };
}
