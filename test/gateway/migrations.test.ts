import { expect } from 'chai';
import type { Database, DatabaseKind } from '../../gateway/database/database.js';
import { createJobStore } from '../../gateway/jobs/store/job-store.js';
import type { JobTables } from '../../gateway/jobs/store/tables.js';
import { createKeyAdmin } from '../../gateway/keys/admin.js';
import { createKey, digestOf } from '../../gateway/keys/model.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import type { KeyTables } from '../../gateway/keys/tables.js';
import { migrations } from '../../gateway/migrations.js';
import { connect, onEachDatabase } from './databases.js';
import { rejection } from './keys/key-store-contract.js';
import { signing } from './signing/signing.js';

/** As they were before signed urls. */
function before(kind: DatabaseKind) {
  return Object.fromEntries(Object.entries(migrations(kind)).filter(([name]) => name < '0004'));
}

describe('migrations', () =>
  onEachDatabase(
    (database) => {
      const open: Database[] = [];
      afterEach(async () => {
        for (const each of open.splice(0)) await each.close();
      });
      async function openWith(own: typeof migrations): Promise<Database> {
        const opened = await connect(database(), { migrations: own });
        open.push(opened);
        return opened;
      }

      /** What an earlier version wrote. */
      async function addOldKey(old: Database, id: string, key: string): Promise<void> {
        const { run } = old.access<KeyTables>();
        const none = { expires_at: null, created_at: 1 };
        const row = { ...none, id, tenant_id: 'ten_1', label: 'old', scopes: '["text/*"]' };
        await run((db) =>
          db
            .insertInto('keys')
            .values({ ...row, revoked_at: null, last_used_at: 5 } as never)
            .execute(),
        );
        const secret = { ...none, id: `sec_${id}`, key_id: id, ...digestOf(key), ended_at: null };
        await run((db) => db.insertInto('secrets').values(secret).execute());
      }

      it('leave keys of an earlier version as they are, and let them sign', async () => {
        const old = await openWith(before);
        const tenant = { id: 'ten_1', name: 'acme', created_at: 1, weight: 1 };
        const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
        await old.access<KeyTables>().run((db) =>
          db
            .insertInto('tenants')
            .values({ ...tenant, ...limits })
            .execute(),
        );
        const [key, later] = [createKey(), createKey()];
        await addOldKey(old, 'key_aaaaaaaaaaaa', key);

        const store = createKeyStore((await openWith(migrations)).access());
        const admin = createKeyAdmin({ store, signing, services: () => [] });
        // By a gateway of the earlier version, which goes on beside the new one.
        await addOldKey(old, 'key_bbbbbbbbbbbb', later);
        for (const [id, text] of [
          ['key_aaaaaaaaaaaa', key],
          ['key_bbbbbbbbbbbb', later],
        ] as const) {
          const [found] = await store.find([digestOf(text).hash]);
          expect(found?.key).to.include({ id, label: 'old', last_used_at: 5, signing_version: 1 });
          expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(signing.current(id, 1));
          expect((await admin.rotateSigning(id, 'ann')).signing_secret).to.equal(signing.current(id, 2));
        }
      });

      it('count what the jobs of an earlier version hold', async () => {
        const old = await openWith((kind) =>
          Object.fromEntries(Object.entries(migrations(kind)).filter(([name]) => name < '0006')),
        );
        const none = { unqueued: 0, started: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
        const times = { created_at: 1, moved_at: 1, cancelled_at: null };
        const job = { key_id: 'k', service: 's', total: 3, bytes: 7, ...none, ...times };
        const item = { state: 'done', queued: 1, attempts: 1, input: '{}' };
        const ended = [
          '{"result":{"kind":"json","type":"application/json","bytes":3000000000,"dryrun":false}}',
          '{"result":{"kind":"json","type":"application/json","bytes":4,"dryrun":false}}',
          '{"error":{"code":"internal","message":"No."}}',
        ];
        await old.access<JobTables>().run(async (db) => {
          for (const [id, tenant_id, finished_at] of [
            ['job_a', 'ten_1', 5],
            ['job_b', 'ten_1', null],
            ['job_c', 'ten_2', null],
          ] as const)
            await db
              .insertInto('jobs')
              .values({ ...job, id, tenant_id, finished_at } as never)
              .execute();
          for (const [idx, text] of ended.entries())
            await db
              .insertInto('job_items')
              .values({ ...item, job_id: 'job_a', idx, ended: text })
              .execute();
          await db
            .insertInto('job_items')
            .values({ ...item, job_id: 'job_b', idx: 0, ended: null })
            .execute();
        });
        const store = createJobStore((await openWith(migrations)).access());
        expect(await store.held('ten_1')).to.include({ inputs: 7, results: 3_000_000_004 });
        expect(await store.held('ten_2')).to.include({ inputs: 7, results: 0 });
        await store.remove('job_a');
        expect(await store.held('ten_1')).to.include({ inputs: 7, results: 0 });
      });

      it('of a newer version are told as what they are', async () => {
        await openWith(migrations);
        const error = await rejection(connect(database(), { migrations: before }));
        expect(String(error)).to.include('newer version').and.include('0004_signing');
        expect(String(error)).not.to.include('corrupted');
      });
    },
    { fresh: true },
  ));
