import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import pg from 'pg';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { jobSchema, openPostgresQueue } from '../../../../gateway/jobs/queue/postgres-queue.js';
import { openRedisQueue } from '../../../../gateway/jobs/queue/redis-queue.js';
import { createSqliteQueue } from '../../../../gateway/jobs/queue/sqlite-queue.js';
import { skipWithout, until } from '../../../needs.js';
import { createPostgresDatabase, createSqliteDatabase, requirePostgres, schemaOf } from '../../databases.js';
import { answers, forget, freshPrefix, REDIS_URL, withClient } from '../../limits/redis-servers.js';
import { refs } from '../store/stored-jobs.js';

const logger = { debug() {}, info() {}, warn() {} };
const muchOfEvents = 1_000;

/** Where a queue keeps its items; nothing at first. */
type QueuePlace = Awaited<ReturnType<typeof createSqlitePlace>>;

async function createSqlitePlace() {
  const { connect, clear, drop } = await createSqliteDatabase();
  return {
    /** One more process's view of it. */
    open: async (options?: { leaseMs?: number }): Promise<JobQueue> =>
      createSqliteQueue((await connect()).access(), options),
    /** How much lies there: rows, or keys. What BullMQ keeps of events counts where it is much. */
    async left() {
      const access = (await connect()).access<{ job_queue: { place: number } }>();
      return (await access.run((db) => db.selectFrom('job_queue').select('place').execute())).length;
    },
    ...{ clear, drop },
  };
}

async function createRedisPlace(): Promise<QueuePlace> {
  const prefix = freshPrefix();
  const clear = () => forget(REDIS_URL, prefix);
  return {
    open: (options) => openRedisQueue({ url: REDIS_URL, prefix: prefix.slice(0, -1), logger, ...options }),
    left: () =>
      withClient(REDIS_URL, async (client) => {
        let count = 0;
        for (const key of await client.keys(`${prefix}*`)) {
          // One that is there for a moment after each look for lost leases.
          if (key.endsWith(':stalled-check')) continue;
          count += key.endsWith(':events') ? Math.floor((await client.xlen(key)) / muchOfEvents) : 1;
        }
        return count;
      }),
    ...{ clear, drop: clear },
  };
}

async function createPostgresPlace(): Promise<QueuePlace> {
  const { location, clear, drop } = await createPostgresDatabase();
  const schema = jobSchema(schemaOf(location));
  return {
    open: (options) => openPostgresQueue({ url: location, logger, ...options }),
    async left() {
      const client = new pg.Client({ connectionString: location });
      await client.connect();
      try {
        const tables = await client.query('select tablename from pg_tables where schemaname = $1', [schema]);
        let count = 0;
        for (const { tablename } of tables.rows) {
          const { rows } = await client.query(`select count(*)::int as n from ${schema}.${tablename}`);
          count += tablename === 'event' ? Math.floor(rows[0].n / muchOfEvents) : rows[0].n;
        }
        return count;
      } finally {
        await client.end();
      }
    },
    ...{ clear, drop },
  };
}

async function requireRedis(this: Mocha.Context): Promise<void> {
  if (!(await answers(REDIS_URL))) skipWithout(this, `Redis (TEST_REDIS_URL, else ${REDIS_URL})`);
}

const names = (leases: readonly Lease[]) => leases.map(({ job, index }) => `${job}/${index}`);

function queueTests(create: () => Promise<QueuePlace>, numRuns: number): void {
  let place: QueuePlace;
  let queue: JobQueue;
  const opened: JobQueue[] = [];
  async function open(options?: { leaseMs: number }): Promise<JobQueue> {
    const queue = await place.open(options);
    opened.push(queue);
    return queue;
  }
  before(async () => {
    place = await create();
  });
  beforeEach(async () => {
    queue = await open();
  });
  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
    await place.clear();
  });
  after(() => place?.drop());

  it('never gives two processes the same item', async () => {
    const other = await open();
    await queue.add('acme', refs('job_a', 200));
    const leased: string[] = [];
    async function leaseAll(from: JobQueue): Promise<void> {
      const leases = await from.lease('acme', 7);
      leased.push(...names(leases));
      await from.done(leases);
      if (leases.length > 0) await leaseAll(from);
    }
    await Promise.all([queue, other, queue, other].map(leaseAll));
    expect([leased.length, new Set(leased).size]).to.deep.equal([200, 200]);
  });

  it('holds back what is released for a while, and then gives it before what was added behind it', async () => {
    await queue.add('acme', refs('job_a', 2));
    await queue.release(await queue.lease('acme', 1), 300_000);
    const leases = await queue.lease('acme', 9);
    expect(names(leases)).to.deep.equal(['job_a/1']);
    await queue.release(leases, 30);
    await queue.add('acme', refs('job_b', 30));
    await sleep(100);
    const seen: string[] = [];
    await until(async () => {
      seen.push(...names(await queue.lease('acme', 1)));
      return seen.includes('job_a/1');
    });
    expect(seen.length).to.be.below(31);
  });

  it('gives what was lost in its old place', async () => {
    const brief = await open({ leaseMs: 50 });
    await queue.add('acme', refs('job_a', 2));
    await brief.lease('acme', 1);
    await queue.add('acme', refs('job_b', 2));
    await until(async () => {
      await brief.recover('acme');
      const leases = await queue.lease('acme', 1);
      await queue.release(leases);
      return names(leases)[0] === 'job_a/0';
    });
    // One at a time: what is leased together comes in the order in which the backend's connections answer.
    const seen: string[] = [];
    for (let at = 0; at < 5; at += 1) seen.push(...names(await queue.lease('acme', 1)));
    expect(seen).to.deep.equal(['job_a/0', 'job_a/1', 'job_b/0', 'job_b/1']);
  });

  it('removes what waits of the items that it is given, and leaves what is leased', async () => {
    await queue.add('acme', refs('job_a', 3));
    await queue.add('acme', refs('job_b', 1));
    const leases = await queue.lease('acme', 1);
    await queue.remove('acme', refs('job_a', 4));
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_b/0']);
    expect(await queue.extend(leases)).to.deep.equal([]);
    await queue.done(leases);
  });

  it('passes over leases that were lost', async () => {
    const brief = await open({ leaseMs: 50 });
    await queue.add('acme', refs('job_a', 1));
    const lost = await brief.lease('acme', 1);
    const leases = await until(() => lease(queue, brief));
    await brief.done(lost);
    await brief.release(lost);
    await brief.release(lost, 10);
    expect(await brief.extend(lost)).to.deep.equal(lost);
    expect(await queue.extend(leases)).to.deep.equal([]);
    expect(await queue.lease('acme', 1)).to.deep.equal([]);
    await queue.done(leases);
    expect(await brief.extend(lost)).to.deep.equal(lost);
  });

  it('leaves an item to the process that prolongs its lease', async () => {
    const leaseMs = 200;
    const brief = await open({ leaseMs });
    let tries = 0;

    async function attempt(): Promise<boolean> {
      tries += 1;
      const job = `job_${tries}`;
      await queue.add('acme', refs(job, 2));
      const [kept, left] = await brief.lease('acme', 2);
      if (!kept || !left) throw new Error('two were added');
      const began = performance.now();
      let last = began;
      let longestRest = 0;
      const rest = () => Math.max(longestRest, performance.now() - last);
      const others: Lease[] = [];
      const lost: Lease[] = [];
      while (others.length === 0 || last - began < 500) {
        lost.push(...(await brief.extend([kept, ...others])));
        longestRest = rest();
        last = performance.now();
        others.push(...((await lease(queue, brief)) ?? []));
      }
      await queue.done([kept, ...others]);
      // A machine that stalled for as long has lost it rightly.
      if (rest() > leaseMs / 2) return false;
      expect(lost).to.deep.equal([]);
      expect(names(others)).to.deep.equal(names([left]));
      return true;
    }
    await until(attempt);
  });

  it('needs no connection for a tenant', async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = sockets();
    const tenants = Array.from({ length: 50 }, (_, number) => `ten_${number}`);
    await Promise.all(tenants.map((tenant) => queue.add(tenant, refs(tenant, 1))));
    const leased = await Promise.all(tenants.map((tenant) => queue.lease(tenant, 2)));
    expect(leased.flat().map(({ tenant }) => tenant)).to.deep.equal(tenants);
    expect(sockets() - before).to.be.at.most(4);
    await queue.done(leased.flat());
  });

  it('accepts many items, each once, and leaves nothing of what was done', async () => {
    await queue.add('acme', refs('job_warm', 1));
    await queue.done(await queue.lease('acme', 1));
    const before = await place.left();
    // More than one command adds.
    const count = 501;
    for (let times = 0; times < 2; times += 1) await queue.add('acme', refs('job_a', count));
    expect(await place.left()).to.be.at.least(before + count);
    await queue.release(await queue.lease('acme', 5));
    await queue.release(await queue.lease('acme', 10), 1);
    for (let done = 0; done < count; ) {
      const leases = await queue.lease('acme', 100);
      await queue.done(leases);
      done += leases.length;
    }
    expect(await place.left()).to.equal(before);
  });

  async function lease(by: JobQueue, recoverer = by): Promise<Lease[] | undefined> {
    await recoverer.recover('acme');
    const leases = await by.lease('acme', 9);
    return leases.length > 0 ? leases : undefined;
  }

  it('gives each item to one process at a time, and all of them, in whatever order it is used', async () => {
    const queues: [JobQueue, JobQueue] = [queue, await open()];
    let run = 0;
    const holdsAsModel = fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), async (steps) => {
      run += 1;
      const models = new Map<string, Model>();
      for (const { by, tenant, ...step } of steps) {
        const own = `${tenant}_${run}`;
        const model = models.get(own) ?? new Model();
        models.set(own, model);
        await doStep(queues[by] as JobQueue, own, model, by, step);
      }
      for (const [tenant, model] of models) {
        model.lease(0, await queue.lease(tenant, 99), 99);
        expect([model.front.size, model.back]).to.deep.equal([0, []]);
      }
    });
    await fc.assert(holdsAsModel, { numRuns });
  }).timeout(30_000);
}

/** What one of two processes does with these indexes, or with at most so many of those that it holds. */
const step = fc.record({
  by: fc.nat(1),
  tenant: fc.constantFrom('a', 'b'),
  does: fc.constantFrom('add', 'add', 'add', 'lease', 'done', 'release', 'extend'),
  indexes: fc.array(fc.nat(12), { minLength: 1, maxLength: 6 }),
  most: fc.nat(4),
});
type Step = Omit<typeof step extends fc.Arbitrary<infer S> ? S : never, 'by' | 'tenant'>;

/** What a tenant's queue should hold. */
class Model {
  /** Come back: before all others, among themselves in no order. */
  front = new Set<number>();
  back: number[] = [];
  held: Lease[][] = [[], []];

  add(indexes: readonly number[]): void {
    for (const index of indexes) if (!this.has(index)) this.back.push(index);
  }

  has(index: number): boolean {
    const leased = this.held.flat().some((lease) => lease.index === index);
    return leased || this.front.has(index) || this.back.includes(index);
  }

  lease(by: number, leases: readonly Lease[], most: number): void {
    const indexes = leases.map(({ index }) => index);
    const first = indexes.filter((index) => this.front.delete(index));
    expect(first).to.have.lengthOf(Math.min(most, first.length + this.front.size));
    const next = this.back.splice(0, most - first.length);
    expect(indexes.filter((index) => !first.includes(index))).to.have.members(next);
    this.held[by]?.push(...leases);
  }
}

async function doStep(queue: JobQueue, tenant: string, model: Model, by: number, step: Step): Promise<void> {
  const { does, indexes, most } = step;
  if (does === 'add') {
    const job = `job_${tenant}`;
    await queue.add(
      tenant,
      indexes.map((index) => ({ job, index })),
    );
    return model.add(indexes);
  }
  if (does === 'lease') return model.lease(by, await queue.lease(tenant, most), most);
  const held = model.held[by] ?? [];
  const some = held.slice(0, most);
  if (does === 'extend') return void expect(await queue.extend(some)).to.deep.equal([]);
  await (does === 'done' ? queue.done(some) : queue.release(some));
  model.held[by] = held.slice(some.length);
  if (does === 'release') for (const { index } of some) model.front.add(index);
}

for (const [name, create, require, numRuns] of [
  ['SQLite', createSqlitePlace, () => {}, 25],
  ['Redis', createRedisPlace, requireRedis, 25],
  ['PostgreSQL', createPostgresPlace, requirePostgres, 6],
] as const)
  describe(`job queue on ${name}`, () => {
    before(require);
    queueTests(create, numRuns);
  });
