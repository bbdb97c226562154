import { pino } from 'pino';
import type { Helper } from '../../../../gateway/helpers/registry.js';
import type { ItemObserver } from '../../../../gateway/jobs/runner/item-log.js';
import { createPatience } from '../../../../gateway/jobs/runner/patience.js';
import { createRunner, type Runner } from '../../../../gateway/jobs/runner/runner.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import type { Tracing } from '../../../../gateway/tracing/tracing.js';
import { jsonAnswer } from '../../../../pool/answer.js';
import type { Pool } from '../../../../pool/pool.js';
import { PoolError } from '../../../../pool/pool-error.js';
import type { Task, TaskOutcome } from '../../../../pool/task.js';
import { createMemoryJobs, type MemoryJobs } from './memory-jobs.js';

/** A task that runs in the pool of a test until it is told how it ended. */
export interface RunningTask {
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
  limiter = { take: () => ({ allowed: true, headers: {}, settle() {} }) },
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
    turn: (asker) => ({
      expect: async () => undefined,
      standBack() {},
      leave() {},
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
  } as Pick<Pool, 'turn' | 'handBack'>;
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
    arrivals: { hold: () => () => undefined },
    lackingMs,
    inbound: { most: 1_000, bytes: 256e6 },
    patience: createPatience({ logger, firstMs: 1, longestMs: 5 }),
    logger,
    tracing,
    observeItem,
    keys: {
      verifyById: (id) => {
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
      kept: () => undefined,
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
