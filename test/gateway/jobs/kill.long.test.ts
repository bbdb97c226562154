import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Database } from '../../../gateway/database/database.js';
import { createJobId } from '../../../gateway/jobs/model.js';
import { createJobStore } from '../../../gateway/jobs/store/job-store.js';
import type { JobTables } from '../../../gateway/jobs/store/tables.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import type { UsageTables } from '../../../gateway/usage/store.js';
import type { DeliveryTables } from '../../../gateway/webhooks/delivery-store.js';
import { fixture } from '../../fixtures.js';
import { skipWithout, until } from '../../needs.js';
import {
  createPostgresDatabase,
  createSqliteDatabase,
  requirePostgres,
  type TestDatabase,
} from '../databases.js';
import { startChild } from '../harness.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { answers, forget, REDIS_URL } from '../limits/redis-servers.js';
import { signing } from '../signing/signing.js';

const kills = Number(process.env.TEST_JOB_KILLS ?? 2);
const itemsOfJob = 24;
const worker = fileURLToPath(new URL('./kill-worker.js', import.meta.url));

for (const name of ['SQLite', 'PostgreSQL', 'Redis and PostgreSQL']) {
  const hasRedis = name.startsWith('Redis');
  const create = name === 'SQLite' ? createSqliteDatabase : createPostgresDatabase;
  describe(`jobs whose workers are killed, with ${name}`, () => {
    let place: TestDatabase;
    let database: Database;
    let folder: string;
    let prefix: string;
    before(async function () {
      if (name !== 'SQLite') await requirePostgres.call(this);
      if (hasRedis && !(await answers(REDIS_URL))) skipWithout(this, 'Redis (TEST_REDIS_URL)');
    });
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'helper-gateway-jobs-'));
      prefix = `test:${randomBytes(6).toString('hex')}`;
      place = await create();
      database = await place.connect();
    });
    afterEach(async () => {
      await place.drop();
      if (hasRedis) await forget(REDIS_URL, prefix);
      await rm(folder, { recursive: true });
    });

    function environment(): NodeJS.ProcessEnv {
      return {
        PATH: process.env.PATH,
        HELPER_DATA_DIR: place.kind === 'sqlite' ? place.location : folder,
        ...(place.kind === 'postgres' ? { DATABASE_URL: place.location } : {}),
        ...(hasRedis ? { REDIS_URL } : {}),
        HELPER_PLUGINS: fixture('plugins/pool'),
        HELPER_POOL_THREADS: '1',
        HELPER_IMAGE_ENGINE: 'jimp',
      };
    }

    it(`end each item once, whenever that is: ${kills} times`, async function () {
      this.timeout(60_000 + kills * 20_000);
      const store = createJobStore(database.access<JobTables>());
      const admin = createKeyAdmin({
        compileRecipe,
        store: createKeyStore(database.access()),
        signing,
        services: () => ['sleep'],
      });
      const tenant = await admin.createTenant('acme', 'test');
      const key = await admin.issueKey('acme', {}, 'test');
      const made: string[] = [];
      const inputs = Array.from({ length: itemsOfJob }, (_, at) => ({
        json: JSON.stringify(at % 8 === 7 ? { ms: 'wrong' } : { ms: 5 + (at % 4) * 10 }),
        files: [],
      }));

      async function make(): Promise<void> {
        const id = createJobId();
        const webhook_url = 'https://webhooks.invalid/hook';
        await store.create(
          { id, tenant_id: tenant.id, key_id: key.id, service: 'sleep', webhook_url },
          inputs,
        );
        made.push(id);
      }

      async function hasEnded(): Promise<boolean> {
        const job = await store.job(tenant.id, made.at(-1) as string);
        return job?.finished_at !== null;
      }

      const start = () => startChild(process.execPath, [worker, prefix], { env: environment() });

      await make();
      for (let killed = 0; killed < kills; killed += 1) {
        if (await hasEnded()) await make();
        const child = start();
        await child.until(() => child.stdout().includes('working'));
        await sleep(Math.random() * 400);
        child.process.kill('SIGKILL');
        await child.ended;
      }
      const last = start();
      await until(hasEnded);
      last.process.kill('SIGTERM');
      await last.ended;

      const wrong = inputs.filter((_, at) => at % 8 === 7).length;
      const counts = { done: itemsOfJob - wrong, failed: wrong, cancelled: 0 };
      for (const id of made) expect(await store.job(tenant.id, id)).to.include(counts);
      const usage = await database
        .access<UsageTables>()
        .run((db) => db.selectFrom('usage_daily').selectAll().execute());
      const sum = (of: 'calls' | 'errors_client') => usage.reduce((all, row) => all + Number(row[of]), 0);
      expect(sum('calls')).to.equal(made.length * itemsOfJob);
      expect(sum('errors_client')).to.equal(made.length * wrong);
      const deliveries = await database
        .access<DeliveryTables>()
        .run((db) => db.selectFrom('webhook_deliveries').select('payload').execute());
      const ids = deliveries.map(({ payload }) => JSON.parse(payload).data.id);
      expect(ids).to.have.members(made);
    });
  });
}
