import { expect } from 'chai';
import pg from 'pg';
import { openJobQueue } from '../../../../gateway/jobs/open-jobs.js';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { openPostgresQueue, refusePooler } from '../../../../gateway/jobs/queue/postgres-queue.js';
import { openRedisQueue } from '../../../../gateway/jobs/queue/redis-queue.js';
import { createSqliteQueue } from '../../../../gateway/jobs/queue/sqlite-queue.js';
import { skipWithout, until } from '../../../needs.js';
import { createLine } from '../../database/line.js';
import {
  createPostgresDatabase,
  createSqliteDatabase,
  postgresUrl,
  requirePostgres,
  type TestDatabase,
} from '../../databases.js';
import { rejection } from '../../keys/key-store-contract.js';
import { createOwnRedis, freshPrefix, type OwnRedis } from '../../limits/redis-servers.js';

const item = { job: 'job_a', index: 0 };
let logged: string[] = [];
const log = (_: unknown, message?: string) => void logged.push(message ?? '');
const logger = { debug() {}, info: log, warn: log };

/** Every method rejects with an error that says to try again later. */
async function expectAway(queue: JobQueue): Promise<void> {
  const lease = { tenant: 'acme', ...item, token: 'none' };
  const asked = [
    ...[queue.add('acme', [lease]), queue.remove('acme', [lease])],
    ...[queue.lease('acme', 3), queue.recover('acme')],
    ...[queue.extend([lease]), queue.done([lease]), queue.release([lease]), queue.release([lease], 10)],
  ];
  for (const answer of await Promise.allSettled(asked)) {
    expect(answer).to.have.nested.property('reason.code', 'storage_unavailable');
  }
}

/** Waits until an item goes in and out. */
function untilItWorks(queue: JobQueue): Promise<unknown> {
  async function works(): Promise<boolean> {
    await queue.add('zeta', [{ job: 'job_z', index: 0 }]);
    const leases = await queue.lease('zeta', 1);
    await queue.done(leases);
    return leases.length === 1;
  }
  return until(() => works().catch(() => false));
}

describe('the job queue of a gateway', () => {
  let place: TestDatabase;
  const queues: JobQueue[] = [];
  function keep(queue: JobQueue): JobQueue {
    queues.push(queue);
    return queue;
  }
  const openBy = async (redisUrl?: string, databaseUrl?: string) =>
    keep(await openJobQueue({ redisUrl, databaseUrl }, await place.connect(), logger));
  beforeEach(() => {
    logged = [];
  });
  afterEach(async () => {
    for (const queue of queues.splice(0)) await queue.close();
    await place?.drop();
  });

  describe('with nothing else', () => {
    beforeEach(async () => {
      place = await createSqliteDatabase();
    });
    const open = async (leaseMs?: number) =>
      createSqliteQueue((await place.connect()).access(), leaseMs === undefined ? {} : { leaseMs });

    it('lies in the embedded database', async () => {
      await (await openBy()).add('acme', [item]);
      expect(await (await open()).lease('acme', 1)).to.have.length(1);
    });

    it('lets no lease run out because the wall clock was set, and each when its process has gone', async () => {
      const [queue, gone, other] = [await open(300), await open(300), await open(300)];
      await queue.add('acme', [item, { ...item, index: 1 }]);
      const held = await queue.lease('acme', 1);
      await gone.lease('acme', 1);
      const wall = Date.now;
      const steps = [0, 3_600_000, -3_600_000];
      const lost: unknown[] = [];
      try {
        let looks = 0;
        const again = await until(async () => {
          const step = steps[looks++ % 3] ?? 0;
          Date.now = () => wall() + step;
          lost.push(...(await queue.extend(held)));
          await other.recover('acme');
          const leased = await other.lease('acme', 9);
          return leased.length > 0 ? leased : undefined;
        });
        expect(again.map(({ index }) => index)).to.deep.equal([1]);
        expect(lost).to.deep.equal([]);
      } finally {
        Date.now = wall;
      }
    });

    it('gives what was put off before the clock was set back', async () => {
      const queue = await open();
      await queue.add('acme', [item]);
      const database = (await place.connect()).access<{ job_queue: { due_at: number } }>();
      const due_at = Date.now() + 86_400_000;
      await database.run((db) => db.updateTable('job_queue').set({ due_at }).execute());
      const wall = performance.now;
      await queue.recover('acme');
      expect(await queue.lease('acme', 1)).to.deep.equal([]);
      try {
        performance.now = () => wall.call(performance) + 600_000;
        await queue.recover('acme');
      } finally {
        performance.now = wall;
      }
      expect(await queue.lease('acme', 1)).to.have.length(1);
    });
  });

  describe('with PostgreSQL', () => {
    before(requirePostgres);
    beforeEach(async () => {
      place = await createPostgresDatabase();
    });

    it('lies there, in a schema of its own; two processes may make it at a time', async () => {
      const open = () => openBy(undefined, place.location);
      const [one, other] = await Promise.all([open(), open()]);
      await one.add('acme', [item]);
      expect(await other.lease('acme', 1)).to.have.lengthOf(1);
    });

    it('is refused where two connections are one to the server: a pooler in transaction mode', async () => {
      const [one, other] = [postgresUrl, postgresUrl].map((url) => new pg.Client({ connectionString: url }));
      if (!one || !other) return expect.fail('two were made');
      await Promise.all([one.connect(), other.connect()]);
      await refusePooler(one, other);
      const refused = await rejection(refusePooler(one, one));
      expect(String(refused)).to.contain('A pooler in transaction mode is between.');
      await Promise.all([one.end(), other.end()]);
    });

    it('ends the start where PostgreSQL may not be used for it, and says why', async () => {
      const url = new URL(place.location);
      url.searchParams.set('options', '-c search_path=nowhere_at_all');
      expect(String(await rejection(openBy(undefined, url.href)))).to.equal(
        'Error: PostgreSQL cannot be used for jobs: The search_path of this PostgreSQL user names no schema.',
      );
    });

    it('rejects while PostgreSQL is away, and goes on by itself', async () => {
      const line = await createLine(place.location);
      const queue = keep(await openPostgresQueue({ url: line.url, logger }));
      await untilItWorks(queue);
      await line.cut();
      await expectAway(queue);
      await expectAway(queue);
      await line.mend();
      await untilItWorks(queue);
      await queue.close();
      await line.cut();
    });
  });

  describe('with Redis', () => {
    let redis: OwnRedis;
    before(async function () {
      redis = (await createOwnRedis()) ?? skipWithout(this, 'redis-server');
    });
    beforeEach(async () => {
      place = await createSqliteDatabase();
    });
    after(() => redis?.kill());
    const open = async (prefix = freshPrefix().slice(0, -1)) =>
      keep(await openRedisQueue({ url: redis.url, prefix, logger, commandTimeoutMs: 200 }));

    it('lies there, whatever the database is', async () => {
      await (await openBy(redis.url, postgresUrl)).add('acme', [item]);
      expect(await (await open('hg:jobs')).lease('acme', 1)).to.have.lengthOf(1);
    });

    it('rejects at once, logs it once, and goes on by itself, even with a Redis that knows nothing', async () => {
      const queue = await open();
      await queue.add('acme', [item]);
      await redis.kill();
      await expectAway(queue);
      await expectAway(queue);
      await redis.start();
      await untilItWorks(queue);
      expect(logged).to.deep.equal(['Redis cannot be used: jobs wait', 'Redis is back: jobs go on']);
      // It does not wait for one that hangs either.
      redis.pause();
      await expectAway(queue);
      redis.resume();
      await untilItWorks(queue);
    });

    it('opens without Redis, and is there when Redis is', async () => {
      await redis.kill();
      const queue = await open();
      await expectAway(queue);
      await redis.start();
      await untilItWorks(queue);
    });
  });
});
