import { DatabaseError } from '../../../../gateway/database/database-error.js';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import type { EndedItem, JobStore, StartedItem } from '../../../../gateway/jobs/store/job-store.js';

/** Items of tenants in memory, as a store and a queue have them. */
export interface MemoryJobs {
  store: Pick<JobStore, 'start' | 'open' | 'handBack' | 'finish' | 'held'>;
  queue: Pick<JobQueue, 'take' | 'extend' | 'done' | 'release' | 'leaseMs'>;
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
      async take(tenant, most) {
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
    if (world.away) throw new DatabaseError(new Error('refused'));
  }

  return world;
}
