import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { ConfigError } from '../../../gateway/config.js';
import { createPost } from '../../../gateway/download/fetch.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import type { QuotaTables } from '../../../gateway/limits/counters.js';
import { createNoticeStore, type NoticeTables, pruneNotices } from '../../../gateway/notices/store.js';
import { openNotices } from '../../../gateway/notices/watch.js';
import { createSigningSecrets, operatorReceiver } from '../../../gateway/signing/signing-secrets.js';
import { createWebhookSender } from '../../../gateway/webhooks/sender.js';
import { until } from '../../needs.js';
import { onEachDatabase } from '../databases.js';
import { type PostServer, startPostServer } from '../download/post-server.js';
import { startChild } from '../harness.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { signing } from '../signing/signing.js';

const dayMs = 86_400_000;

describe('notices', () =>
  onEachDatabase((database) => {
    const start = Date.UTC(2030, 4, 10, 12);
    let now: number;
    let opened: Awaited<ReturnType<ReturnType<typeof database>['connect']>>;
    let admin: ReturnType<typeof createKeyAdmin>;
    let acme: string;
    beforeEach(async () => {
      now = start;
      opened = await database().connect();
      const store = createKeyStore(opened.access());
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [], now: () => now });
      acme = (await admin.createTenant('acme', 'test')).id;
    });

    const access = () => opened.access<NoticeTables & QuotaTables>();
    const update = (table: 'tenants' | 'keys', values: object, id: string) =>
      opened
        .access<Record<string, Record<string, unknown>>>()
        .run((db) => db.updateTable(table).set(values).where('id', '=', id).execute());
    /** Adds to what an account has used this month. */
    const use = (account: string, used: number, month = '2030-05') =>
      access().run((db) =>
        db
          .insertInto('quota_use')
          .values({ tenant: account, month, used })
          .onConflict((is) => is.columns(['tenant', 'month']).doUpdateSet({ used }))
          .execute(),
      );
    const deliveries = () =>
      access().run((db) => db.selectFrom('webhook_deliveries').selectAll().orderBy('tenant_id').execute());

    interface Process {
      noticesUrl?: string;
      monthlyQuota?: number;
      secrets?: { available: boolean };
    }
    /** One look of one more process. */
    async function look({ secrets = signing.webhooks, ...config }: Process = {}): Promise<void> {
      const notices = openNotices({
        config: { webhookOrigins: [], ...config },
        access: (await database().connect()).access<NoticeTables>(),
        ...{ secrets, wake() {}, logger: pino({ level: 'silent' }), now: () => now },
      });
      await notices.start();
      await notices.close();
    }
    const list = createList();
    function createList() {
      return async (query = {}, tenant?: string) =>
        (await createNoticeStore(access()).list(query, tenant)).notices;
    }
    /** Types and texts, oldest first. */
    const said = async () => (await list()).map(({ text }) => text).reverse();

    it('come of budgets by the limits in force: own, of the plan, of the gateway', async () => {
      const [globex, initech] = [
        (await admin.createTenant('globex', 'test')).id,
        (await admin.createTenant('initech', 'test')).id,
      ];
      const plan = { name: 'free', monthly_quota: 100, created_at: 0, updated_at: 0 };
      await opened.access<{ plans: object }>().run((db) => db.insertInto('plans').values(plan).execute());
      await update('tenants', { plan: 'free', monthly_cpu_ms: 2000 }, acme);
      await update('tenants', { plan: 'free', monthly_quota: 1000 }, globex);
      await use(acme, 50);
      await use(`${acme} cpu`, 1_900_000);
      await use(globex, 499);
      await use(initech, 9);
      await use(initech, 10, '2030-04');
      await look({ monthlyQuota: 10 });
      expect((await said()).sort()).to.deep.equal([
        'acme has used 50 % of its monthly calls: 50 of 100 in May 2030.',
        'acme has used 95 % of its monthly CPU time: 1.9 of 2 s in May 2030.',
        'initech has used 90 % of its monthly calls: 9 of 10 in May 2030.',
      ]);
    });

    it('come once a month for each threshold', async () => {
      await update('tenants', { monthly_quota: 100 }, acme);
      for (const used of [10, 60, 79, 100, 100]) {
        await use(acme, used);
        await look();
      }
      expect((await list()).map(({ data }) => data.threshold)).to.deep.equal([100, 50]);
      now = Date.UTC(2030, 5, 1);
      await use(acme, 80, '2030-06');
      await look();
      expect((await list())[0]?.data).to.include({ threshold: 80, period: '2030-06', used: 80, limit: 100 });
    });

    it('come of keys that expire, not of revoked ones nor of suspended tenants', async () => {
      const expires = (days: number) => new Date(now + days * dayMs).toISOString();
      const { id } = await admin.issueKey('acme', { label: 'shop', expires_at: expires(60) }, 'test');
      const revoked = await admin.issueKey('acme', { expires_at: expires(60) }, 'test');
      await admin.revokeKey(revoked.id, 'test');
      for (const days of [10, 30, 54, 59.5, 60, 61]) {
        now = start + days * dayMs;
        await look();
        await look();
      }
      const subject = `The key shop (${id}) of acme`;
      expect(await said()).to.deep.equal([
        `${subject} expires in 30 days, on 2030-07-09.`,
        `${subject} expires in 6 days, on 2030-07-09.`,
        `${subject} expires in 1 day, on 2030-07-09.`,
        `${subject} expired on 2030-07-09.`,
      ]);
      await update('keys', { expires_at: now }, id);
      await update('tenants', { suspended_at: 1 }, acme);
      await look();
      expect(await list()).to.have.length(4);
    });

    it('come once a day of webhooks that fail, and never of the delivery of such a notice', async () => {
      const values = { tenant_id: acme, url: 'https://hooks.example/s3cret', payload: '{"type":"job.done"}' };
      const add = (id: string, attempts: number, ageMs: number, changes = {}) => {
        const row = { ...values, id, attempts, created_at: now - ageMs, due_at: now + dayMs, ...changes };
        return access().run((db) => db.insertInto('webhook_deliveries').values(row).execute());
      };
      await update('tenants', { notice_url: 'https://notices.example/' }, acme);
      await add('msg_1', 5, 60_000);
      await add('msg_2', 1, dayMs);
      await look();
      expect(await list()).to.deep.equal([]);
      await add('msg_3', 6, 60_000);
      await add('msg_4', 2, 7_200_000);
      await look();
      const of = { tenant: 'acme', tenant_id: acme, host: 'hooks.example', waiting: 2, attempts: 6 };
      expect((await list())[0]?.data).to.include(of);
      await access().run((db) => db.updateTable('webhook_deliveries').set({ attempts: 9 }).execute());
      await look();
      now += dayMs;
      await look();
      const hosts = (await list()).map(({ data }) => data.host);
      expect(hosts).to.deep.equal(['hooks.example', 'hooks.example']);
    });

    it('are stored with their deliveries to the tenant and to the operator, each once over processes that race', async () => {
      await update('tenants', { monthly_quota: 100, notice_url: 'https://notices.example/' }, acme);
      await use(acme, 85);
      await Promise.all(Array.from({ length: 4 }, () => look({ noticesUrl: 'https://operator.example/' })));
      expect(await list()).to.have.length(1);
      const sent = (await deliveries()).map(({ tenant_id, url }) => [tenant_id, url]);
      expect(sent).to.have.deep.members([
        [operatorReceiver, 'https://operator.example/'],
        [acme, 'https://notices.example/'],
      ]);
    });

    it('are lost by no kill -9 between their row and the commit', async () => {
      await update('tenants', { notice_url: 'https://notices.example/' }, acme);
      // By the other process's clock.
      const month = new Date().toISOString().slice(0, 7);
      await update('tenants', { monthly_quota: 100 }, acme);
      await use(acme, 100, month);
      const { kind, location } = database();
      const file = fileURLToPath(new URL('./held-child.js', import.meta.url));
      const child = startChild(process.execPath, [file, kind, location]);
      await child.until(() => child.stdout().includes('added') || undefined);
      child.process.kill('SIGKILL');
      await child.ended;
      now = Date.now();
      await look();
      expect([await list(), await deliveries()].map(({ length }) => length)).to.deep.equal([1, 1]);
    }).timeout(30_000);

    it('are listed without a master secret, and not sent', async () => {
      await update('tenants', { monthly_quota: 100, notice_url: 'https://notices.example/' }, acme);
      await use(acme, 85);
      await look({
        secrets: createSigningSecrets(undefined).webhooks,
        noticesUrl: 'https://operator.example/',
      });
      expect([await list(), await deliveries()].map(({ length }) => length)).to.deep.equal([1, 0]);
    });

    it('are listed newest first, page by page, by type and tenant, until they are pruned', async () => {
      const globex = (await admin.createTenant('globex', 'test')).id;
      for (const id of [acme, globex]) await update('tenants', { monthly_quota: 100 }, id);
      await use(acme, 50);
      await look();
      now += dayMs;
      await use(globex, 100);
      await use(acme, 80);
      await look();
      const store = createNoticeStore(access());
      const first = await store.list({ limit: 2 });
      const rest = await store.list({ limit: 2, after: first.next });
      expect([first.notices.length, rest.notices.length, rest.next]).to.deep.equal([2, 1, null]);
      expect(rest.notices[0]).to.include({ tenant: 'acme', at: new Date(start).toISOString() });
      expect(await list({}, globex)).to.have.length(1);
      expect(await list({ type: 'key.expired' })).to.deep.equal([]);
      // As long as what was noticed of a month or a key is needed, at least.
      const prune = (at: number) => opened.access().change((trx) => pruneNotices(1)(trx, at, 10));
      expect(await prune(start + 62 * dayMs)).to.equal(0);
      expect(await prune(start + 62.5 * dayMs)).to.equal(1);
    });

    it('refuse an address of the operator by the rules of webhooks, without printing it', async () => {
      const bad = await look({ noticesUrl: 'https://10.0.0.1/s3cret' }).catch((error) => error);
      expect(bad).to.be.instanceOf(ConfigError);
      expect(bad.message).to.include('HELPER_NOTICES_URL must be').and.not.include('s3cret');
    });

    describe('that are sent', () => {
      let server: PostServer;
      before(async () => {
        server = await startPostServer();
      });
      after(() => server?.close());

      it('are believed by the library of Standard Webhooks, with the secrets of tenant and operator', async () => {
        now = Date.now();
        await use(acme, 85, new Date(now).toISOString().slice(0, 7));
        const post = createPost({ origins: [server.origin], timeoutMs: 30_000 });
        await update('tenants', { monthly_quota: 100, notice_url: `${server.origin}/tenant` }, acme);
        const notices = openNotices({
          config: { webhookOrigins: [server.origin], noticesUrl: `${server.origin}/operator` },
          ...{ access: access(), secrets: signing.webhooks, logger: pino({ level: 'silent' }) },
          wake() {},
        });
        await notices.start();
        await notices.close();
        const sender = createWebhookSender({
          ...{ access: access(), post, secrets: signing.webhooks, logger: pino({ level: 'silent' }) },
        });
        await until(() => server.received.length >= 2);
        await until(async () => (await deliveries()).length === 0);
        await sender.close();
        await post.close();
        const { webhook_secret } = await admin.noticesSecret('ann');
        for (const [path, secret] of [
          ['/tenant', signing.webhooks.current(acme, 1)],
          ['/operator', webhook_secret],
        ] as const) {
          const { body = '', headers = {} } = server.received.find((each) => each.path === path) ?? {};
          const message = new Webhook(secret).verify(body, headers as Record<string, string>);
          expect(message).to.have.keys('type', 'timestamp', 'data').and.include({ type: 'tenant.budget' });
          expect(message).to.have.nested.property('data.percent', 85);
        }
        expect((await admin.audit()).entries[0]).to.include({
          action: 'operator.notices_secret',
          actor: 'ann',
        });
      });
    });
  }));
