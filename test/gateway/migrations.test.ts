import { expect } from 'chai';
import { sql } from 'kysely';
import type { Database, DatabaseKind } from '../../gateway/database/database.js';
import { createJobStore } from '../../gateway/jobs/store/job-store.js';
import { createKeyAdmin } from '../../gateway/keys/admin.js';
import { createKey, digestOf } from '../../gateway/keys/model.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import { migrations } from '../../gateway/migrations.js';
import { createSignIn } from '../../gateway/site/accounts/sign-in.js';
import type { SiteTables } from '../../gateway/site/tables.js';
import { connect, onEachDatabase } from './databases.js';
import { rejection } from './keys/key-store-contract.js';
import { compileRecipe } from './keys/recipe-compiler.js';
import { signing } from './signing/signing.js';
import { atFullCost } from './site/quick-passwords.js';
import { client, signInSettings } from './site/test-site.js';

/** As they were before the one of this number. */
function until(number: string) {
  return (kind: DatabaseKind) =>
    Object.fromEntries(Object.entries(migrations(kind)).filter(([name]) => name < number));
}

describe('migrations', () =>
  onEachDatabase(
    (database) => {
      const openWith = (own: typeof migrations) => database().connect({ migrations: own });

      /** What an earlier version wrote. */
      function insert(old: Database, table: string, ...rows: object[]): Promise<unknown> {
        const { run } = old.access<Record<string, object>>();
        return run((db) => db.insertInto(table).values(rows).execute());
      }

      async function addOldKey(old: Database, id: string, key: string): Promise<void> {
        const times = { expires_at: null, created_at: 1 };
        const own = { label: 'old', scopes: '["text/*"]', revoked_at: null, last_used_at: 5 };
        await insert(old, 'keys', { ...times, ...own, id, tenant_id: 'ten_1' });
        const secret = { id: `sec_${id}`, key_id: id, ended_at: null };
        await insert(old, 'secrets', { ...times, ...secret, ...digestOf(key) });
      }

      it('leave keys of an earlier version as they are, and let them sign', async () => {
        const old = await openWith(until('0004'));
        const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
        await insert(old, 'tenants', { id: 'ten_1', name: 'acme', created_at: 1, weight: 1, ...limits });
        const [key, later] = [createKey(), createKey()];
        await addOldKey(old, 'key_aaaaaaaaaaaa', key);

        const store = createKeyStore((await openWith(migrations)).access());
        const admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [] });
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
        const old = await openWith(until('0006'));
        const none = { unqueued: 0, started: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
        const times = { created_at: 1, moved_at: 1, cancelled_at: null };
        const job = { key_id: 'k', service: 's', total: 3, bytes: 7, ...none, ...times };
        const item = { state: 'done', queued: 1, attempts: 1, input: '{}' };
        const result = (bytes: number) =>
          `{"result":{"kind":"json","type":"application/json","bytes":${bytes},"dryrun":false}}`;
        const ended = [result(3_000_000_000), result(4), '{"error":{"code":"internal","message":"No."}}'];
        const jobs = [
          ['job_a', 'ten_1', 5],
          ['job_b', 'ten_1', null],
          ['job_c', 'ten_2', null],
        ].map(([id, tenant_id, finished_at]) => ({ ...job, id, tenant_id, finished_at }));
        await insert(old, 'jobs', ...jobs);
        const items = ended.map((text, idx) => ({ ...item, job_id: 'job_a', idx, ended: text }));
        await insert(old, 'job_items', ...items, { ...item, job_id: 'job_b', idx: 0, ended: null });
        const store = createJobStore((await openWith(migrations)).access());
        expect(await store.held('ten_1')).to.include({ inputs: 7, results: 3_000_000_004 });
        expect(await store.held('ten_2')).to.include({ inputs: 7, results: 0 });
        await store.remove('job_a');
        expect(await store.held('ten_1')).to.include({ inputs: 7, results: 0 });
      });

      it('leave people their passwords, roles and connected accounts, and end their sessions', async () => {
        const old = await openWith(until('0009'));
        const at = old.kind === 'postgres' ? 'now()' : "'2026-11-01T00:00:00.000Z'";
        // As better-auth 1.7 hashed it.
        const password = 'cafe\u0301 au lait \ufb01ne';
        const hash =
          'd77b026dbfa1d876fdf85bbc17712e24:d98fd855216616d39793e00db790ed4df0504eefbeb4bca148eee2aff31f8a5dfd784bcdafb6d1b214e7a5661e281e137674c7c31da896932eccf575d0f92b6d';
        for (const statement of [
          `insert into connect_users (id, name, email, "emailVerified", "createdAt", "updatedAt")
            values ('u1', 'Ada', 'ada@example.com', ${old.kind === 'postgres' ? false : 0}, ${at}, ${at})`,
          `insert into connect_accounts (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
            values ('a1', 'u1', 'credential', 'u1', '${hash}', ${at}, ${at}), ('a2', 'sub-1', 'oidc', 'u1', null, ${at}, ${at})`,
          `insert into connect_sessions (id, "expiresAt", token, "createdAt", "updatedAt", "userId")
            values ('s1', ${at}, 'x', ${at}, ${at}, 'u1')`,
          `insert into connect_operators values ('u1', 1)`,
        ])
          await old.access().run((db) => sql.raw(statement).execute(db));

        const site = (await openWith(migrations)).access<SiteTables>();
        const person = { id: 'u1', name: 'Ada', email: 'ada@example.com' };
        const ada = { ...person, second_factor: null, second_factor_step: 0 };
        for (const [table, rows] of [
          ['connect_users', [{ ...ada, password: hash }]],
          ['connect_identities', [{ subject: 'sub-1', user_id: 'u1' }]],
          ['connect_operators', [{ user_id: 'u1', created_at: 1 }]],
          ['connect_sessions', []],
        ] as const)
          expect(await site.run((db) => db.selectFrom(table).selectAll().execute())).to.deep.equal(rows);
        const signIn = createSignIn({ database: site, ...signInSettings });
        const enter = () => signIn.signIn('ada@example.com', password, client);
        expect(await atFullCost(enter)).to.have.property('cookies');
      });

      it('of a newer version are named as what they are', async () => {
        await openWith(migrations);
        const error = await rejection(connect(database(), { migrations: until('0004') }));
        expect(String(error)).to.include('newer version').and.include('0004_signing');
        expect(String(error)).not.to.include('corrupted');
      });
    },
    { fresh: true },
  ));
