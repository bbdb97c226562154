import { getMigrations } from 'better-auth/db/migration';
import { expect } from 'chai';
import {
  createFirstOperator,
  FIRST_OPERATOR,
  resetOperator,
} from '../../../gateway/connect/auth/first-operator.js';
import { createInvitations } from '../../../gateway/connect/auth/invitations.js';
import { createOnce } from '../../../gateway/connect/auth/once.js';
import { createPeople } from '../../../gateway/connect/auth/people.js';
import { loadSecret } from '../../../gateway/connect/auth/secret.js';
import { authOptions, createSignIn } from '../../../gateway/connect/auth/sign-in.js';
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

    it('takes up an invitation once, though two try at the same moment', async () => {
      await createFirstOperator(connect);
      const one = createInvitations(connect);
      const two = createInvitations(second);
      const { token } = await one.invite({ tenant_id: 'ten_1', note: 'Ada', created_by: FIRST_OPERATOR });
      const account = (email: string) => ({ email, name: '', password: 'correct horse battery' });
      const joined = await Promise.all([
        one.joinAs(token, account('ada@example.com')),
        two.joinAs(token, account('eve@example.com')),
      ]);
      expect(joined.map(({ state }) => state).sort()).to.deep.equal(['invalid', 'joined']);
      expect(await createPeople(second).members('ten_1')).to.have.length(1);
      expect(await one.open('ten_1')).to.deep.equal([]);
      const users = await connect.run((db) => db.selectFrom('connect_users').select('email').execute());
      expect(users.map(({ email }) => email))
        .to.have.length(2)
        .and.include(FIRST_OPERATOR);
    });

    it('leaves an invitation open when the e-mail has an account already', async () => {
      await createFirstOperator(connect);
      const invitations = createInvitations(connect);
      const account = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' };
      const first = await invitations.invite({ tenant_id: 'ten_1', note: 'Ada', created_by: FIRST_OPERATOR });
      const joined = await invitations.joinAs(first.token, account);
      const { token } = await invitations.invite({
        tenant_id: null,
        note: 'Ada',
        created_by: FIRST_OPERATOR,
      });
      expect(await invitations.joinAs(token, account)).to.deep.equal({ state: 'email_taken' });
      const userId = joined.state === 'joined' ? joined.userId : '';
      expect(await invitations.join(token, userId)).to.have.property('state', 'joined');
      const people = createPeople(connect);
      expect((await people.operators()).map(({ email }) => email)).to.include('ada@example.com');
      expect((await people.rights(userId)).operator).to.equal(true);
    });

    it('keeps of an invitation only the hash, and lets it run out after seven days', async () => {
      await createFirstOperator(connect);
      let now = Date.now();
      const invitations = createInvitations(connect, () => now);
      const { token } = await invitations.invite({
        tenant_id: 'ten_1',
        note: 'Ada',
        created_by: FIRST_OPERATOR,
      });
      const rows = await connect.run((db) => db.selectFrom('connect_invitations').selectAll().execute());
      expect(JSON.stringify(rows)).not.to.include(token);
      now += 7 * DAY - 1;
      expect(await invitations.find(token)).to.include({ tenant_id: 'ten_1' });
      now += 1;
      expect(await invitations.find(token)).to.equal(undefined);
      expect(await invitations.join(token, 'anybody')).to.deep.equal({ state: 'invalid' });
    });

    it('cancels an invitation of this tenant and of no other', async () => {
      await createFirstOperator(connect);
      const invitations = createInvitations(connect);
      const { token } = await invitations.invite({
        tenant_id: 'ten_1',
        note: 'Ada',
        created_by: FIRST_OPERATOR,
      });
      const [{ id } = { id: '' }] = await invitations.open('ten_1');
      expect(await invitations.cancel('ten_2', id)).to.equal(false);
      expect(await invitations.cancel(null, id)).to.equal(false);
      expect(await invitations.cancel('ten_1', id)).to.equal(true);
      expect(await invitations.find(token)).to.equal(undefined);
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

    /** An operator beside the first, with an invitation of theirs to a tenant and one to be an operator. */
    async function createSecondOperator() {
      const invitations = createInvitations(connect);
      const own = await invitations.invite({ tenant_id: null, note: 'Bob', created_by: FIRST_OPERATOR });
      const account = { email: 'bob@example.com', name: '', password: 'correct horse battery' };
      const joined = await invitations.joinAs(own.token, account);
      const given = { note: 'Eve', created_by: account.email };
      const tokens = [
        (await invitations.invite({ ...given, tenant_id: 'ten_1' })).token,
        (await invitations.invite({ ...given, tenant_id: null })).token,
      ];
      return { invitations, tokens, userId: joined.state === 'joined' ? joined.userId : '' };
    }

    it('ends the open invitations of an operator who is removed, and nobody else’s', async () => {
      await createFirstOperator(connect);
      const { invitations, tokens, userId } = await createSecondOperator();
      const given = { tenant_id: 'ten_1', note: 'Ada', created_by: FIRST_OPERATOR };
      const { token } = await invitations.invite(given);
      expect(await createPeople(connect).removeOperator(userId)).to.equal(true);
      for (const ended of tokens) {
        expect(await invitations.find(ended)).to.equal(undefined);
        expect(await invitations.join(ended, userId)).to.deep.equal({ state: 'invalid' });
      }
      const rows = await connect.run((db) =>
        db.selectFrom('connect_invitations').select(['created_by', 'used_at']).execute(),
      );
      expect(rows.filter(({ used_at }) => used_at === null)).to.have.length(1);
      expect(await invitations.find(token)).to.include({ note: 'Ada' });
    });

    it('takes no invitation whose inviter is no operator when it is taken up', async () => {
      await createFirstOperator(connect);
      const { invitations, tokens, userId } = await createSecondOperator();
      await connect.run((db) => db.deleteFrom('connect_operators').where('user_id', '=', userId).execute());
      const account = { email: 'eve@example.com', name: '', password: 'correct horse battery' };
      for (const token of tokens) {
        expect(await invitations.find(token)).to.equal(undefined);
        expect(await invitations.joinAs(token, account)).to.deep.equal({ state: 'invalid' });
        expect(await invitations.join(token, userId)).to.deep.equal({ state: 'invalid' });
      }
      expect(await invitations.open('ten_1')).to.deep.equal([]);
      expect(await createPeople(connect).members('ten_1')).to.deep.equal([]);
    });

    it('ends what a removed member invited to the tenant, and to no other', async () => {
      await createFirstOperator(connect);
      const { invitations, tokens, userId } = await createSecondOperator();
      const given = { tenant_id: 'ten_1', note: 'Bob', created_by: FIRST_OPERATOR };
      await invitations.join((await invitations.invite(given)).token, userId);
      expect(await createPeople(connect).removeMember('ten_1', userId)).to.equal(true);
      expect(await createPeople(connect).removeMember('ten_1', userId)).to.equal(false);
      expect(await Promise.all(tokens.map((token) => invitations.find(token)))).to.have.nested.property(
        '1.id',
      );
      expect(await invitations.find(tokens[0] ?? '')).to.equal(undefined);
    });

    it('lets nobody in with an invitation that is taken up while its inviter is removed, or lets them in before', async () => {
      await createFirstOperator(connect);
      const { tokens, userId } = await createSecondOperator();
      const account = { email: 'eve@example.com', name: '', password: 'correct horse battery' };
      const [joined] = await Promise.all([
        createInvitations(second).joinAs(tokens[0] ?? '', account),
        createPeople(connect).removeOperator(userId),
      ]);
      const members = await createPeople(connect).members('ten_1');
      expect(members).to.have.length(joined.state === 'joined' ? 1 : 0);
      expect(await createInvitations(connect).open(null)).to.deep.equal([]);
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
