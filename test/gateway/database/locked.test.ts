import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import Database from 'libsql';
import { createBatchWriter, pruneWriters } from '../../../gateway/database/batch-writer.js';
import { pruneDaily } from '../../../gateway/database/prune-daily.js';
import { createFirstTenant } from '../../../gateway/keys/admin.js';
import { hashSecret } from '../../../gateway/keys/model.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import { createQuotaLedger, pruneQuotas, readQuotaUse } from '../../../gateway/limits/counters.js';
import { createFirstOperator } from '../../../gateway/site/accounts/account.js';
import { createInvitations, createPeople } from '../../../gateway/site/accounts/people.js';
import { createSignIn } from '../../../gateway/site/accounts/sign-in.js';
import { createFormMarks } from '../../../gateway/site/form-guard.js';
import { loadSecret } from '../../../gateway/site/site.js';
import type { SiteTables } from '../../../gateway/site/tables.js';
import { createUsageMeter } from '../../../gateway/usage/meter.js';
import { pruneUsage } from '../../../gateway/usage/store.js';
import { until } from '../../needs.js';
import { connect, createSqliteDatabase, type TestDatabase } from '../databases.js';
import { byName, oldestFirst } from '../keys/key-store-contract.js';
import { createTestMembers } from '../site/members.js';
import { client, signInSettings } from '../site/test-site.js';
import { createQuietLog } from '../usage/quiet.js';

/** Time for what does not meet the lock to end before it is released. */
const lockedMs = 100;
/** What each of several at once may hold up the others, until all have met the lock. */
const attemptMs = 50;
const month = '2026-11';
const outcome = { status: 200, code: 'ok', ms: 3, requestId: 'r' };
const call = { key: 'key_1', service: 'text/a', ...outcome, bytesIn: 1, bytesOut: 1, cpuMs: 0 };

/** Every module with tables on one database, each with something in it. */
async function createModules(files: TestDatabase) {
  const database = await files.connect();
  const store = createKeyStore(database.access());
  const first = await createFirstTenant(store);
  if (!first) throw new Error('a new database has no tenant');
  const tenant = (await store.tenant(first.tenant))?.id ?? '';

  const logger = createQuietLog();
  const writer = createBatchWriter({ access: database.access(), logger, flushEveryMs: 60_000 });
  const ledger = createQuotaLedger(database.access());
  writer.add(ledger);
  const meter = createUsageMeter({ access: database.access(), writer, logger });
  async function count(): Promise<boolean> {
    const account = await ledger.open(tenant, month);
    account.hold();
    account.charge();
    meter.record({ ...call, tenant });
    meter.record({ ...call, tenant, at: 0 });
    return writer.flush();
  }
  await count();

  const site = database.access<SiteTables>();
  const operator = await createFirstOperator(site);
  if (!operator) throw new Error('a new database has no operator');
  const signIn = await createSignIn({ database: site, ...signInSettings });
  const enter = () => signIn.signIn(operator.email, operator.password, client);
  const cookie = (await enter())?.cookies[0]?.split(';')[0] ?? '';
  const session = await signIn.session(cookie);
  if (!session) throw new Error('the operator is not signed in');
  const by = session.session.user;
  const user = by.id;
  const people = createPeople(site);
  const invitations = createInvitations(site);
  const once = createFormMarks(site);
  const members = createTestMembers(site);
  return {
    database,
    ...{ store, first, tenant, key: first.id },
    ...{ logger, writer, meter, count },
    ...{ site, enter, signIn, cookie, user, by, people, invitations, members, once },
  };
}

type Modules = Awaited<ReturnType<typeof createModules>>;

type Operation = [name: string, work: (modules: Modules) => Promise<unknown>, result?: unknown];

/** What each module does with the database, and its result, of a list its length; what only reads, several at once. */
const operations: Operation[][] = [
  [
    ['keys: tenants', ({ store }) => store.tenants(byName).then(({ rows }) => rows), 1],
    ['keys: a tenant', ({ store }) => store.tenant('demo').then((found) => found?.name), 'demo'],
    ['keys: a page', ({ store }) => store.keys(oldestFirst).then(({ rows }) => rows), 1],
    ['keys: one', ({ store, key }) => store.key(key).then((found) => found?.secrets.length), 1],
    ['keys: a look-up', ({ store, first }) => store.find([hashSecret(first.key)]), 1],
    ['keys: the audit log', ({ store }) => store.audit({ limit: 9 }), 3],
    ['keys: the last change', ({ store }) => store.lastChange().then((last) => last?.id), 3],
    ['keys: changes', ({ store }) => store.changesFrom(0, 9), 3],
  ],
  [['keys: a change', ({ store, key }) => store.change((tx) => tx.updateKey(key, { revoked_at: 1 }))]],
  [['keys: when they were last used', ({ store, key }) => store.touch(new Map([[key, 1]]))]],
  [['usage: a page', ({ meter, tenant }) => meter.usage(tenant).then(({ rows }) => rows), 2]],
  [['usage and quotas: a batch', ({ count }) => count(), true]],
  [
    [
      'quotas: what a tenant has used',
      ({ database, tenant }) => readQuotaUse(database.access(), tenant, month),
      2,
    ],
    [
      'quotas: an account',
      async ({ database, tenant }) => {
        const ledger = createQuotaLedger(database.access());
        // A call waits a quarter of a second at most; the sum is read behind it.
        const account = await ledger.open(tenant, month);
        return until(() => account.used());
      },
      2,
    ],
  ],
  [
    [
      'all: what is old goes',
      async ({ database, logger, meter, tenant }) => {
        const parts = [...pruneUsage(400), pruneQuotas(400), pruneWriters];
        await pruneDaily({ access: database.access(), logger, parts }).close();
        return (await meter.usage(tenant)).rows;
      },
      1,
    ],
  ],
  [['site: signing in', ({ enter }) => enter().then((signed) => signed !== undefined), true]],
  [
    [
      'site: a session',
      ({ signIn, cookie, user }) => signIn.session(cookie).then((found) => found?.session.user.id === user),
      true,
    ],
    ['site: rights', ({ people, user }) => people.rights(user).then(({ role }) => role), 'operator'],
    ['site: operators', ({ people }) => people.of(null), 1],
    ['site: members', ({ people, tenant }) => people.of(tenant), 0],
    [
      'site: names of tenants',
      ({ store, tenant }) => store.tenantNames([tenant]).then((names) => names.get(tenant)),
      'demo',
    ],
    ['site: invitations', ({ invitations }) => invitations.open(null), 0],
    ['site: an invitation', ({ invitations }) => invitations.find('no such token'), undefined],
  ],
  [
    [
      'site: an invitation, made and cancelled',
      async ({ members, invitations, by }) => {
        await members.invite(null, { note: 'a colleague' }, by);
        const [open] = await invitations.open(null);
        return members.cancel(null, open?.id ?? '', by);
      },
      true,
    ],
  ],
  [['site: a form sent once', ({ once }) => once.claim('mark'), true]],
  [['site: a form that may be sent again', ({ once }) => once.release('mark')]],
  [['site: the secret', ({ site }) => loadSecret(site).then((secret) => secret.length), 43]],
  [['site: another first operator', ({ site }) => createFirstOperator(site), undefined]],
  [['site: signing out', ({ signIn, cookie }) => signIn.signOut(cookie)]],
];

describe('database: while another process holds the lock', () => {
  let files: TestDatabase;
  let modules: Modules;
  let holder: InstanceType<typeof Database>;
  before(async () => {
    files = await createSqliteDatabase();
    modules = await createModules(files);
    holder = new Database(join(files.location, 'gateway.db'));
  });
  after(async () => {
    holder.close();
    await modules.writer.close();
    await files.drop();
  });

  for (const atOnce of operations) {
    describe(atOnce.length === 1 ? 'one operation' : `${atOnce.length} at once`, () => {
      let outcomes: Promise<{ found: unknown; waited: boolean }>[];
      before(async () => {
        holder.exec('begin exclusive');
        let locked = true;
        outcomes = atOnce.map(async ([, work]) => {
          const found = await work(modules);
          return { found, waited: !locked };
        });
        await pause(lockedMs + atOnce.length * attemptMs);
        locked = false;
        holder.exec('commit');
        await Promise.allSettled(outcomes);
      });

      for (const [at, [name, , result]] of atOnce.entries()) {
        it(`waits and succeeds: ${name}`, async () => {
          const { found, waited } = (await outcomes[at]) ?? {};
          expect(waited, 'met the lock').to.equal(true);
          if (result !== undefined) expect(Array.isArray(found) ? found.length : found).to.equal(result);
          expect(modules.logger.lines).to.deep.equal([]);
        });
      }
    });
  }

  it('waits and succeeds: a further process that opens it', async () => {
    holder.exec('begin exclusive');
    let locked = true;
    const opening = connect(files).then((database) => {
      expect(locked).to.equal(false);
      return database;
    });
    await pause(lockedMs);
    locked = false;
    holder.exec('commit');
    await (await opening).close();
  });
});
