import { pino } from 'pino';
import { database as databaseStore, StoreError } from '../../../../gateway/database/store-error.js';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import type { ItemObserver } from '../../../../gateway/jobs/runner/item-call.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { createRunner, type Runner } from '../../../../gateway/jobs/runner/runner.js';
import type { JobStore } from '../../../../gateway/jobs/store/job-store.js';
import type { EndedItem, StartedItem } from '../../../../gateway/jobs/store/transitions.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import type { Tracing } from '../../../../gateway/observability/tracing.js';
import type { Helper } from '../../../../gateway/plugins/registry.js';
import { jsonAnswer } from '../../../../pool/answer.js';
import { PoolError } from '../../../../pool/errors.js';
import type { Pool } from '../../../../pool/pool.js';
import type { Task, TaskOutcome } from '../../../../pool/task.js';

/** A task that runs in the pool of a test until it is told how it ended. */
interface RunningTask {
  tenant: string;
  input: Record<string, unknown>;
  /** Ends it after so many milliseconds, as the pool would have measured them; with so many bytes, or JSON. */
  end(ms?: number, bytes?: number): void;
  fail(error: unknown): void;
}

export interface RunnerWorld {
  jobs: MemoryJobs;
  runner: Runner;
  /** Tasks that run, oldest first. */
  running: RunningTask[];
  results: Map<string, Uint8Array>;
  log: Record<string, unknown>[];
  helpers: Map<string, Helper>;
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
  weights = {},
  bring,
  tracing,
  put,
  mostResultBytes = 1e12,
  jobs = createMemoryJobs(),
  lackingMs,
  observeItem,
  limiter = { take: async () => ({ allowed: true, headers: {}, settle() {} }) },
}: {
  threads?: number;
  weights?: Record<string, number>;
  /** Brings what the items of the helper `fetch` name by `url`, as so many bytes. */
  bring?: (url: string) => Promise<number>;
  tracing?: Tracing;
  /** Called before a result is put; what it throws keeps it from being put. */
  put?: (name: string) => void;
  mostResultBytes?: number;
  jobs?: MemoryJobs;
  lackingMs?: number;
  observeItem?: ItemObserver;
  limiter?: Pick<Limiter, 'take'>;
} = {}): RunnerWorld {
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
    ticket: (asker) => ({
      reserve: async () => undefined,
      cancelReservation() {},
      release() {},
      run: (task: Task) =>
        new Promise<TaskOutcome>((resolve, reject) => {
          if (closed) return reject(new PoolError('shutting_down', 'closed'));
          const { input } = task as Extract<Task, { kind: 'call' }>;
          const gone = () => running.splice(running.indexOf(one), 1);
          const one: RunningTask = {
            tenant: asker.tenant,
            input,
            end(ms = 10, bytes = 0) {
              gone();
              const type = 'application/octet-stream';
              const made = { kind: 'bytes', type, bytes: zeros(bytes) };
              const value = bytes > 0 ? made : jsonAnswer({ done: true });
              resolve({ ok: true, value, ms } as unknown as TaskOutcome);
            },
            fail(error) {
              gone();
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
    store: jobs.store,
    queue: jobs.queue,
    pool,
    results: {
      get: async () => undefined,
      async put(name, bytes) {
        put?.(name);
        results.set(name, bytes);
      },
    },
    mostResultBytes,
    registry: helpers,
    threads,
    inboundBudget: { hold: () => () => undefined },
    lackingMs,
    inbound: { most: 1_000, bytes: 256e6 },
    retryPolicy: createRetryPolicy({ logger, firstMs: 1, longestMs: 5 }),
    logger,
    tracing,
    observeItem,
    keys: {
      verifyById: async (id) => {
        const tenant = id.slice('key_'.length);
        const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
        return {
          state: 'active',
          tenant: { id: tenant, name: tenant, limits, weight: weights[tenant] ?? 1 },
          key: { id, label: null, scopes: null },
        };
      },
    },
    limiter,
    limits: { rate: 0, burst: 0, monthlyQuota: null, inFlight: null },
    files: {
      check: (href: string) => ({ href }),
      cached: () => undefined,
      async bring({ href }: { href: string }, { signal }: { signal: AbortSignal }) {
        const gone = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
        const bytes = zeros(await Promise.race([bring?.(href) ?? 0, gone]));
        return { bytes, type: '', shared: false, release() {} };
      },
    } as never,
    bodyLimits: { maxTextBytes: 1e6, maxFileBytes: 1e6 },
    imageLimits: { maxPixels: 1e6, maxFrames: 10, maxBytes: 1e9 } as never,
    inline: {
      timeoutMs: 1_000,
      maxJsonBytes: 1e6,
      logger,
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
export interface MemoryJobs {
  store: Pick<JobStore, 'start' | 'open' | 'handBack' | 'finish' | 'held'>;
  queue: Pick<JobQueue, 'lease' | 'extend' | 'done' | 'release' | 'leaseMs'>;
  /** Adds items of a tenant's job, of the same name as the tenant. */
  add(tenant: string, count: number, input?: object, service?: string): void;
  ended: EndedItem[];
  /** Attempts by `job index`. */
  attempts: Map<string, number>;
  /** In the order in which they were given back. */
  released: { lease: Lease; delayMs: number | undefined }[];
  /** Items that wait in the queue. */
  waiting(): number;
  /** Has every call rejected as if the database was away. */
  away: boolean;
  /** What the store says of a tenant's results. */
  resultBytes: number;
  /** Calls of the queue's `take`. */
  takes: number;
}

export function createMemoryJobs(): MemoryJobs {
  const lines = new Map<string, { job: string; index: number }[]>();
  const items = new Map<string, StartedItem>();
  const world: MemoryJobs = {
    ended: [],
    attempts: new Map(),
    released: [],
    away: false,
    takes: 0,
    resultBytes: 0,
    waiting: () => [...lines.values()].reduce((sum, line) => sum + line.length, 0),
    add(tenant, count, input = {}, service = 'work') {
      const line = lines.get(tenant) ?? [];
      lines.set(tenant, line);
      for (let at = 0; at < count; at += 1) {
        const index = items.size;
        const of = { tenant_id: tenant, key_id: `key_${tenant}`, service };
        const given = { json: JSON.stringify(input), files: [] };
        items.set(`${tenant} ${index}`, {
          ...{ job: tenant, index, of, input: given },
          attempt: 0,
          ...{ created_at: Date.now(), done: 0 },
        });
        line.push({ job: tenant, index });
      }
    },
    queue: {
      leaseMs: 60_000,
      async lease(tenant, most) {
        world.takes += 1;
        requireThere();
        const taken = (lines.get(tenant) ?? []).splice(0, most);
        return taken.map((ref) => ({ ...ref, tenant, token: 'token' }));
      },
      async extend() {
        return [];
      },
      async done() {
        requireThere();
      },
      async release(leases, delayMs) {
        requireThere();
        for (const lease of leases) {
          world.released.push({ lease, delayMs });
          lines.get(lease.tenant)?.unshift({ job: lease.job, index: lease.index });
        }
      },
    },
    store: {
      async start(refs) {
        requireThere();
        return refs.flatMap(({ job, index }) => {
          const name = `${job} ${index}`;
          const item = items.get(name);
          if (!item || isEnded(job, index)) return [];
          const attempt = (world.attempts.get(name) ?? 0) + 1;
          world.attempts.set(name, attempt);
          const done = world.ended.filter((one) => one.job === job && one.end.state === 'done').length;
          return [{ ...item, attempt, done }];
        });
      },
      held: async () => ({ inputs: 0, results: world.resultBytes, aResult: 0 }),
      async open(refs) {
        requireThere();
        return refs.filter(({ job, index }) => !isEnded(job, index));
      },
      async handBack(started, { counted } = { counted: false }) {
        requireThere();
        for (const { job, index, attempt } of started)
          if (!counted) world.attempts.set(`${job} ${index}`, attempt - 1);
      },
      async finish(all) {
        requireThere();
        const items = all.filter(({ job, index }) => !isEnded(job, index));
        const before = all.filter((item) => item.again && world.ended.includes(item));
        world.ended.push(...items);
        return { items: [...items, ...before], jobs: [] };
      },
    },
  };

  function isEnded(job: string, index: number): boolean {
    return world.ended.some((one) => one.job === job && one.index === index);
  }

  function requireThere(): void {
    if (world.away) throw new StoreError(databaseStore, new Error('refused'));
  }

  return world;
}
