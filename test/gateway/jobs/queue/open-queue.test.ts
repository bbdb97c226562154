import { expect } from 'chai';
import pg from 'pg';
import { openJobQueue } from '../../../../gateway/jobs/open-jobs.js';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { refusePooler } from '../../../../gateway/jobs/queue/postgres-queue.js';
import { createSqliteQueue } from '../../../../gateway/jobs/queue/sqlite-queue.js';
import { skipWithout, until } from '../../../needs.js';
import {
  connect,
  createPostgresDatabase,
  createSqliteDatabase,
  postgresUrl,
  requirePostgres,
} from '../../databases.js';
import { createOwnRedis } from '../../limits/redis-servers.js';
import { recorder } from './queues.js';

const logger = recorder().logger;
const item = { job: 'job_a', index: 0 };

describe('the job queue of a gateway', () => {
  it('lies in the embedded database where there is nothing else', async () => {
    const place = await createSqliteDatabase();
    const database = await place.connect();
    const queue = await openJobQueue({ redisUrl: undefined, databaseUrl: undefined }, database, logger);
    await queue.add('acme', [item]);
    const rows = await database
      .access<{ job_queue: { job_id: string } }>()
      .run((db) => db.selectFrom('job_queue').select('job_id').execute());
    expect(rows).to.deep.equal([{ job_id: 'job_a' }]);
    await queue.close();
    await place.drop();
  });

  it('lets no lease run out there because the wall clock was set, and each when its process has gone', async () => {
    const place = await createSqliteDatabase();
    const database = await place.connect();
    const [queue, gone, other] = [300, 300, 300].map((leaseMs) =>
      createSqliteQueue(database.access(), { leaseMs }),
    ) as [JobQueue, JobQueue, JobQueue];
    await queue.add('acme', [item, { ...item, index: 1 }]);
    const kept = await queue.lease('acme', 1);
    await gone.lease('acme', 1);
    const wall = Date.now;
    const steps = [0, 3_600_000, -3_600_000];
    const lost: unknown[] = [];
    try {
      let looks = 0;
      const again = await until(async () => {
        const step = steps[looks % 3] ?? 0;
        looks += 1;
        Date.now = () => wall() + step;
        lost.push(...(await queue.extend(kept)));
        await other.recover('acme');
        const taken = await other.lease('acme', 9);
        return taken.length > 0 ? taken : undefined;
      });
      expect(again.map(({ index }) => index)).to.deep.equal([1]);
      expect(lost).to.deep.equal([]);
    } finally {
      Date.now = wall;
    }
    await place.drop();
  });

  it('gives there what was put off before the clock was set back', async () => {
    const place = await createSqliteDatabase();
    const database = await place.connect();
    const queue = createSqliteQueue(database.access());
    await queue.add('acme', [item]);
    await database.access<{ job_queue: { due_at: number } }>().run((db) =>
      db
        .updateTable('job_queue')
        .set({ due_at: Date.now() + 86_400_000 })
        .execute(),
    );
    expect(await queue.lease('acme', 1)).to.deep.equal([]);
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
    await place.drop();
  });

  describe('with PostgreSQL', () => {
    before(requirePostgres);

    it('lies there, in a schema of its own; two processes may make it at a time', async () => {
      const place = await createPostgresDatabase();
      const database = await connect(place);
      const config = { redisUrl: undefined, databaseUrl: place.location };
      const queues = await Promise.all([1, 2].map(() => openJobQueue(config, database, logger)));
      const [queue, other] = queues;
      await queue?.add('acme', [item]);
      expect(await other?.lease('acme', 1)).to.have.lengthOf(1);
      for (const one of queues) await one.close();
      await database.close();
      await place.drop();
    });

    it('lies in Redis where that is named too', async function () {
      const redis = (await createOwnRedis()) ?? skipWithout(this, 'redis-server');
      const place = await createPostgresDatabase();
      const database = await connect(place);
      const config = { redisUrl: redis.url, databaseUrl: place.location };
      const queue = await openJobQueue(config, database, logger);
      await queue.add('acme', [item]);
      expect(await until(() => queue.lease('acme', 1))).to.have.lengthOf(1);
      await queue.close();
      await database.close();
      await place.drop();
      await redis.kill();
    });

    it('is refused where two connections are one to the server: a pooler in transaction mode', async () => {
      const [one, other] = [1, 2].map(() => new pg.Client({ connectionString: postgresUrl }));
      if (!one || !other) throw new Error('two were made');
      await Promise.all([one.connect(), other.connect()]);
      await refusePooler(one, other);
      const refused = await refusePooler(one, one).catch((error: Error) => error.message);
      expect(refused).to.contain('A pooler in transaction mode is between.');
      await Promise.all([one.end(), other.end()]);
    });

    it('ends the start where PostgreSQL may not be used for it, and says why', async () => {
      const database = await createPostgresDatabase();
      const url = new URL(database.location);
      url.searchParams.set('options', '-c search_path=nowhere_at_all');
      const config = { redisUrl: undefined, databaseUrl: url.href };
      const opening = openJobQueue(config, await database.connect(), logger);
      const error = await opening.then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error?.message).to.equal(
        'PostgreSQL cannot be used for jobs: The search_path of this PostgreSQL user names no schema.',
      );
      await database.drop();
    });
  });
});
