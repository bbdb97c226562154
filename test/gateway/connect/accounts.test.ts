import { getMigrations } from 'better-auth/db/migration';
import { expect } from 'chai';
import { momentOf } from '../../../gateway/connect/auth/account.js';
import { authOptions } from '../../../gateway/connect/auth/auth-options.js';
import {
  createFirstOperator,
  FIRST_OPERATOR,
  resetOperator,
} from '../../../gateway/connect/auth/first-operator.js';
import { createInvitations } from '../../../gateway/connect/auth/invitations.js';
import { createOnce } from '../../../gateway/connect/auth/once.js';
import { createPeople } from '../../../gateway/connect/auth/people.js';
import { loadSecret } from '../../../gateway/connect/auth/secret.js';
import { createSignIn } from '../../../gateway/connect/auth/sign-in.js';
import type { ConnectDatabase } from '../../../gateway/connect/database.js';
import { onEachDatabase } from '../databases.js';
import { openConnectDatabase } from './test-site.js';

const DAY = 86_400_000;
const silent = { debug() {} };
const settings = { secret: 's'.repeat(43), baseUrl: 'http://127.0.0.1:8081', secureCookies: false };

describe('connect: accounts', () => {
  onEachDatabase((database) => {
    let connect: ConnectDatabase;
    let second: ConnectDatabase;
    beforeEach(async () => {
      // The store makes the file and the tables of tenants.
      await database().open();
      connect = await openConnectDatabase(database());
      second = await openConnectDatabase(database());
    });
    afterEach(() => Promise.all([connect.handle.destroy(), second.handle.destroy()]));

    it('has the tables that better-auth wants', async () => {
      const options = { ...authOptions(settings), database: { db: connect.handle, type: connect.kind } };
      const { toBeCreated, toBeAdded } = await getMigrations(options);
      expect(toBeCreated.filter(({ table }) => table.startsWith('connect_'))).to.deep.equal([]);
      expect(toBeAdded.filter(({ table }) => table.startsWith('connect_'))).to.deep.equal([]);
    });

    it('keeps one secret, whichever gateway starts first', async () => {
      const [one, two] = await Promise.all([loadSecret(connect), loadSecret(second)]);
      expect(one)
        .to.equal(two)
        .and.match(/^[\w-]{43}$/);
      expect(await loadSecret(second)).to.equal(one);
    });

    it('makes one first operator, though two gateways start at once', async () => {
      const made = await Promise.all([createFirstOperator(connect), createFirstOperator(second)]);
      expect(made.filter(Boolean)).to.have.length(1);
      const operator = made.find(Boolean);
      expect(operator?.email).to.equal(FIRST_OPERATOR);
      expect(operator?.password).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/);
      expect(await createFirstOperator(second)).to.equal(undefined);
      const auth = await createSignIn({ ...settings, database: second, logger: silent });
      expect(await auth.signIn(FIRST_OPERATOR, operator?.password ?? '')).to.have.property('cookies');
    });

    it('knows a session that another gateway opened', async () => {
      const operator = await createFirstOperator(connect);
      const one = await createSignIn({ ...settings, database: connect, logger: silent });
      const two = await createSignIn({ ...settings, database: second, logger: silent });
      const signed = await one.signIn(FIRST_OPERATOR, operator?.password ?? '');
      const cookie = signed?.cookies[0]?.split(';')[0] ?? '';
      expect((await two.session(cookie))?.session.user.email).to.equal(FIRST_OPERATOR);
      await two.signOut(cookie);
      expect(await one.session(cookie)).to.equal(undefined);
    });

    it('keeps the newest sessions of an account, and none that has run out', async () => {
      const operator = await createFirstOperator(connect);
      const auth = await createSignIn({ ...settings, database: connect, logger: silent });
      const signIn = () => auth.signIn(FIRST_OPERATOR, operator?.password ?? '');
      const sessions = () => connect.run((db) => db.selectFrom('connect_sessions').selectAll().execute());
      for (let n = 0; n < 21; n += 1) await signIn();
      expect(await sessions()).to.have.length(20);
      const past = momentOf(connect.kind, Date.now() - DAY);
      await connect.run((db) => db.updateTable('connect_sessions').set({ expiresAt: past }).execute());
      const newest = await signIn();
      expect(await sessions()).to.have.length(1);
      expect(await auth.session(newest?.cookies[0]?.split(';')[0] ?? '')).to.have.property('session');
    });

    it('gives an operator who forgot the password another, and ends their sessions', async () => {
      const operator = await createFirstOperator(connect);
      const auth = await createSignIn({ ...settings, database: connect, logger: silent });
      const signed = await auth.signIn(FIRST_OPERATOR, operator?.password ?? '');
      const reset = await resetOperator(second);
      expect(reset.email).to.equal(FIRST_OPERATOR);
      expect(await auth.session(signed?.cookies[0]?.split(';')[0] ?? '')).to.equal(undefined);
      expect(await auth.signIn(FIRST_OPERATOR, operator?.password ?? '')).to.equal(undefined);
      expect(await auth.signIn(FIRST_OPERATOR, reset.password)).to.have.property('cookies');
      const refusal = await resetOperator(second, 'nobody@example.com').catch((error) => error);
      expect(refusal).to.include({ code: 'not_found' });
    });

    it('lets one of two operators remain who remove each other at once', async () => {
      await createFirstOperator(connect);
      const invitations = createInvitations(connect);
      const { token } = await invitations.invite({
        tenant_id: null,
        note: 'Bob',
        created_by: FIRST_OPERATOR,
      });
      await invitations.joinAs(token, {
        email: 'bob@example.com',
        name: '',
        password: 'correct horse battery',
      });
      const [a, b] = await createPeople(connect).operators();
      const removed = await Promise.all([
        createPeople(connect).removeOperator(a?.id ?? ''),
        createPeople(second).removeOperator(b?.id ?? ''),
      ]);
      expect(removed.sort()).to.deep.equal([false, true]);
      expect(await createPeople(connect).operators()).to.have.length(1);
    });

    it('lets a form through once, on whichever gateway, and forgets it after a day', async () => {
      let now = Date.now();
      const [one, two] = [createOnce(connect, () => now), createOnce(second, () => now)];
      const mark = one.mark();
      const claims = await Promise.all([one.claim(mark), two.claim(mark)]);
      expect(claims.sort()).to.deep.equal([false, true]);
      await one.release(mark);
      expect(await two.claim(mark)).to.equal(true);
      now += DAY + 1;
      await one.claim(one.mark());
      const rows = await connect.run((db) => db.selectFrom('connect_once').selectAll().execute());
      expect(rows).to.have.length(1);
    });
  });
});
