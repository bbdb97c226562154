import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { sql } from 'kysely';
import {
  addAccount,
  createFirstOperator,
  firstOperatorEmail,
  resetOperator,
  type User,
} from '../../../../gateway/site/accounts/account.js';
import { createInvitations, createPeople } from '../../../../gateway/site/accounts/people.js';
import { createSignIn } from '../../../../gateway/site/accounts/sign-in.js';
import { createFormMarks } from '../../../../gateway/site/form-guard.js';
import { loadSecret } from '../../../../gateway/site/site.js';
import type { SiteDatabase } from '../../../../gateway/site/tables.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, operatorNamed, outcome } from '../members.js';
import { client, type OpenedSiteDatabase, openConnectDatabase, signInSettings } from '../test-site.js';

const day = 86_400_000;
const { address } = client;
const account = (email: string) => ({ email, name: '', password: 'correct horse battery' });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => error.code,
  );

describe('site/accounts', () => {
  onEachDatabase((database) => {
    let connect: OpenedSiteDatabase;
    let second: OpenedSiteDatabase;
    beforeEach(async () => {
      // The store makes the file and the tables of tenants.
      await database().open();
      connect = await openConnectDatabase(database());
      second = await openConnectDatabase(database());
    });
    afterEach(() => Promise.all([connect.close(), second.close()]));

    it('have one secret, whichever gateway starts first', async () => {
      const [one, two] = await Promise.all([loadSecret(connect), loadSecret(second)]);
      expect(one).to.match(/^[\w-]{43}$/);
      expect([two, await loadSecret(second)]).to.deep.equal([one, one]);
    });

    it('let a form through once, on whichever gateway, and forget it after a day', async () => {
      let now = Date.now();
      const [one, two] = [createFormMarks(connect, () => now), createFormMarks(second, () => now)];
      const mark = one.mark();
      expect((await Promise.all([one.claim(mark), two.claim(mark)])).sort()).to.deep.equal([false, true]);
      await one.release(mark);
      expect(await two.claim(mark)).to.equal(true);
      now += day + 1;
      await one.claim(one.mark());
      const rows = await connect.run((db) => db.selectFrom('connect_once').selectAll().execute());
      expect(rows).to.have.length(1);
    });

    it('begin with one first operator, though two gateways start at once', async () => {
      const made = await Promise.all([createFirstOperator(connect), createFirstOperator(second)]);
      const [operator, ...others] = made.filter((each) => each !== undefined);
      expect(others).to.deep.equal([]);
      expect(operator?.email).to.equal(firstOperatorEmail);
      expect(operator?.password).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/);
      expect(await createFirstOperator(second)).to.equal(undefined);
    });

    describe('sessions', () => {
      let now: number;
      let password: string;
      beforeEach(async () => {
        now = Date.now();
        password = (await createFirstOperator(connect))?.password ?? '';
      });
      function open(database: SiteDatabase) {
        return createSignIn({ ...signInSettings, database, now: () => now });
      }
      async function enter(by = open(connect), text = password): Promise<string> {
        const signed = await by.signIn(firstOperatorEmail, text, client);
        return signed?.cookies[0]?.split(';')[0] ?? 'refused';
      }

      it('are known to every gateway, and ended on all', async () => {
        const [one, two] = [open(connect), open(second)];
        const cookie = await enter(one);
        expect((await two.session(cookie))?.session.user.email).to.equal(firstOperatorEmail);
        await two.signOut(cookie);
        expect(await one.session(cookie)).to.equal(undefined);
      });

      it('are the newest of an account, and none that has expired', async () => {
        const sessions = () => connect.run((db) => db.selectFrom('connect_sessions').selectAll().execute());
        for (let n = 0; n < 21; n += 1) await enter();
        expect(await sessions()).to.have.length(20);
        now += day;
        const newest = await enter();
        expect(await sessions()).to.have.length(1);
        expect(await open(connect).session(newest)).to.have.property('session');
      });

      it('are renewed in use for a day, and end when they rest', async () => {
        const cookie = await enter();
        const renewals: (number | undefined)[] = [];
        for (const minutes of [59, 1, 59, 1, 24 * 60 - 1, 24 * 60]) {
          now += minutes * 60_000;
          renewals.push((await open(connect).session(cookie))?.cookies.length);
        }
        expect(renewals).to.deep.equal([0, 1, 0, 1, 1, undefined]);
      });

      it('end when an operator who forgot the password gets another', async () => {
        const cookie = await enter();
        const reset = await resetOperator(second, undefined, 'cli:root');
        expect(reset.email).to.equal(firstOperatorEmail);
        expect(await open(connect).session(cookie)).to.equal(undefined);
        expect(await enter()).to.equal('refused');
        expect(await enter(open(connect), reset.password)).not.to.equal('refused');
        const nobody = 'nobody\u001b[31m@example.com';
        const refusal = await resetOperator(second, nobody, 'cli:root').catch((error) => error);
        const message = 'There is no operator "nobody\\u{1b}[31m@example.com".';
        expect(refusal).to.include({ code: 'not_found', message });
      });
    });

    describe('invitations', () => {
      let first: User;
      let now: number;
      beforeEach(async () => {
        now = Date.now();
        await createFirstOperator(connect);
        first = await operatorNamed(connect, firstOperatorEmail);
      });
      const people = () => createPeople(connect);
      const invitations = () => createInvitations(connect, () => now);
      const members = (database = connect) => createTestMembers(database, () => now);
      const invite = async (group: string | null, by = first) =>
        (await members().invite(group, { note: 'somebody' }, by)).token;
      const joinAs = (token: string, email: string, database = connect) =>
        outcome(members(database).joinAs(token, account(email), address));

      const addTenant = () =>
        connect.run((db) =>
          sql`insert into tenants (id, name, created_at, weight) values ('ten_1', 'acme', 1, 1)`.execute(db),
        );

      /** An operator beside the first, with an invitation of theirs to a tenant and one to be an operator. */
      async function createSecondOperator() {
        expect(await joinAs(await invite(null), 'bob@example.com')).to.equal('joined');
        const bob = await operatorNamed(connect, 'bob@example.com');
        return { bob, tokens: [await invite('ten_1', bob), await invite(null, bob)] as const };
      }

      it('make one member, though two accept at the same moment', async () => {
        const token = await invite('ten_1');
        const joined = [joinAs(token, 'ada@example.com'), joinAs(token, 'eve@example.com', second)];
        expect((await Promise.all(joined)).sort()).to.deep.equal(['invalid', 'joined']);
        expect(await people().of('ten_1')).to.have.length(1);
        expect(await invitations().open('ten_1')).to.deep.equal([]);
        const users = await connect.run((db) => db.selectFrom('connect_users').select('email').execute());
        expect(users).to.have.length(2);
      });

      it('stay open when the e-mail has an account already, which can accept them', async () => {
        await joinAs(await invite('ten_1'), 'ada@example.com');
        const token = await invite(null);
        expect(await joinAs(token, 'ada@example.com')).to.equal('email_taken');
        const [user] = await people().of('ten_1');
        await members().join(token, user as User);
        expect((await people().rights(user?.id ?? '')).role).to.equal('operator');
      });

      it('are needed to learn whether there is an account', async () => {
        for (const email of ['operator@gateway.example', firstOperatorEmail])
          expect(await joinAs('no-such-token', email)).to.equal('invalid');
      });

      it('give the role that they name, which an operator changes; a demoted one has no more invitations', async () => {
        await addTenant();
        const by = first;
        const { token } = await members().invite(null, { note: 'Ada', role: 'operator' }, by);
        await joinAs(token, 'ada@example.com');
        const ada = await operatorNamed(connect, 'ada@example.com');
        const open = await members().invite('ten_1', { note: 'Bob', role: 'viewer' }, ada);
        await members().setRole(null, ada.id, 'support', by);
        expect((await people().rights(ada.id)).role).to.equal('support');
        expect(await joinAs(open.token, 'bob@example.com')).to.equal('invalid');
        const again = await members().invite('ten_1', { note: 'Bob', role: 'viewer' }, by);
        await joinAs(again.token, 'bob@example.com');
        const [bob] = await people().of('ten_1');
        expect((await people().rights(bob?.id ?? '')).tenants).to.deep.include.members([
          { id: 'ten_1', name: 'acme', role: 'viewer' },
        ]);
        for (const [group, role, from, code] of [
          ['ten_1', 'operator', by, 'invalid_input'],
          ['ten_1', 'member', ada, 'forbidden'],
          [null, 'operator', by, 'not_found'],
        ] as const) {
          const refused = members().setRole(group, bob?.id ?? '', role, from);
          expect((await refused.catch((error) => error)).code).to.equal(code);
        }
        const demoted = members().setRole(null, by.id, 'support', by);
        expect((await demoted.catch((error) => error)).message).to.include('last operator');
      });

      it('of readers are no operators and members to a gateway of an older version', async () => {
        await addTenant();
        const hash = (token: string) => createHash('sha256').update(token).digest('hex');
        for (const [group, role] of [
          [null, 'support'],
          ['ten_1', 'viewer'],
        ] as const) {
          const { token } = await members().invite(group, { note: 'Eve', role }, first);
          const found = await connect.run((db) =>
            db.selectFrom('connect_invitations').selectAll().where('token_hash', '=', hash(token)).execute(),
          );
          expect(found, role).to.deep.equal([]);
          expect(await joinAs(token, `${role}@example.com`)).to.equal('joined');
        }
        const rows = (table: 'connect_operators' | 'connect_members') =>
          connect.run((db) => db.selectFrom(table).select('user_id').execute());
        expect(await rows('connect_operators')).to.deep.equal([{ user_id: first.id }]);
        expect(await rows('connect_members')).to.deep.equal([]);
      });

      it('raise a reader, and lower nobody', async () => {
        await joinAs(
          (await members().invite(null, { note: 'Ada', role: 'support' }, first)).token,
          'ada@example.com',
        );
        const ada = await operatorNamed(connect, 'ada@example.com');
        for (const role of ['operator', 'support']) {
          await members().join((await members().invite(null, { note: 'Ada', role }, first)).token, ada);
          expect((await people().rights(ada.id)).role, role).to.equal('operator');
        }
        expect(await people().of(null)).to.have.length(2);
      });

      it('fill the list of all people, which is searched and read page by page', async () => {
        await addTenant();
        for (let n = 100; n < 160; n += 1) {
          const id = await connect.change((trx) =>
            addAccount(trx, { email: `p${n}@example.com`, name: n === 130 ? 'ZOË 50%_' : '', password: '' }),
          );
          const row = { user_id: id, tenant_id: 'ten_1', created_at: n };
          await connect.run((db) => db.insertInto('connect_members').values(row).execute());
        }
        const read = async (q: string, after?: string | null, before?: string | null) => {
          const place = { after: after ?? undefined, before: before ?? undefined };
          const found = await people().search({ q, ...place });
          return { ...found, emails: found.people.map(({ email }) => email) };
        };
        const first = await read('');
        expect(first.emails).to.have.length(50);
        expect(first.before).to.equal(null);
        const last = await read('', first.after);
        expect([last.emails[0], last.emails.length, last.after]).to.deep.equal([
          'p150@example.com',
          10,
          null,
        ]);
        const back = await read('', null, last.before);
        expect([back.emails, back.before]).to.deep.equal([first.emails, null]);
        for (const [q, found] of [
          ['P13', 10],
          ['zo', 1],
          ['ZOË', 1],
          ['%_', 1],
          ['_', 1],
          ['nobody', 0],
        ] as const)
          expect((await read(q)).emails, q).to.have.length(found);
      });

      it('are in the database as a hash, and expire after seven days', async () => {
        const token = await invite('ten_1');
        const rows = await connect.run((db) => db.selectFrom('connect_invitations').selectAll().execute());
        expect(JSON.stringify(rows)).not.to.include(token);
        now += 7 * day - 1;
        expect(await invitations().find(token)).to.include({ tenant_id: 'ten_1' });
        now += 1;
        expect(await invitations().find(token)).to.equal(undefined);
        expect(await outcome(members().join(token, first))).to.equal('invalid');
      });

      it('are cancelled under their own tenant alone', async () => {
        const token = await invite('ten_1');
        const [{ id } = { id: '' }] = await invitations().open('ten_1');
        const cancelled: boolean[] = [];
        for (const group of ['ten_2', null, 'ten_1'])
          cancelled.push(await members().cancel(group, id, first));
        expect(cancelled).to.deep.equal([false, false, true]);
        expect(await invitations().find(token)).to.equal(undefined);
      });

      it('say for whom they are', async () => {
        for (const note of ['', '  ', 'a'.repeat(101), 'two\nlines']) {
          const refusal = await members()
            .invite('ten_1', { note }, first)
            .catch((error) => error);
          expect(refusal.code, note).to.equal('invalid_input');
          expect(refusal.details).to.deep.equal([
            { field: 'note', problem: 'must be 1 to 100 characters without control characters' },
          ]);
        }
        expect((await members().invite('ten_1', { note: ' Ada ' }, first)).note).to.equal('Ada');
      });

      it('end with the operator who made them, and nobody else’s', async () => {
        const { tokens, bob } = await createSecondOperator();
        const other = await invite('ten_1');
        await members().remove(null, bob.id, first);
        for (const token of tokens) {
          expect(await invitations().find(token)).to.equal(undefined);
          expect(await outcome(members().join(token, bob))).to.equal('invalid');
        }
        expect(await invitations().find(other)).to.include({ note: 'somebody' });
      });

      it('are refused where the inviter is no operator when they are used', async () => {
        const { tokens, bob } = await createSecondOperator();
        await connect.run((db) => db.deleteFrom('connect_operators').where('user_id', '=', bob.id).execute());
        for (const token of tokens) {
          expect(await invitations().find(token)).to.equal(undefined);
          expect(await joinAs(token, 'eve@example.com')).to.equal('invalid');
          expect(await outcome(members().join(token, bob))).to.equal('invalid');
        }
        expect([await invitations().open('ten_1'), await people().of('ten_1')]).to.deep.equal([[], []]);
      });

      it('of a removed member to the tenant end, and to no other', async () => {
        const { tokens, bob } = await createSecondOperator();
        await members().join(await invite('ten_1'), bob);
        await members().remove('ten_1', bob.id, first);
        const again = await members()
          .remove('ten_1', bob.id, first)
          .catch((error) => error);
        expect(again).to.include({ code: 'not_found', message: 'This person is not here any more.' });
        expect(await invitations().find(tokens[0])).to.equal(undefined);
        expect(await invitations().find(tokens[1])).to.have.property('id');
      });

      it('let nobody in while their inviter is removed, or let them in before', async () => {
        const { tokens, bob } = await createSecondOperator();
        const [joined] = await Promise.all([
          joinAs(tokens[0], 'eve@example.com', second),
          members().remove(null, bob.id, first),
        ]);
        expect(await people().of('ten_1')).to.have.length(joined === 'joined' ? 1 : 0);
        expect(await invitations().open(null)).to.deep.equal([]);
      });

      it('and removals leave one of two operators who remove each other at once, and the last', async () => {
        const { bob } = await createSecondOperator();
        const removed = [members().remove(null, bob.id, first), members(second).remove(null, first.id, bob)];
        const codes = await Promise.all(removed.map(codeOf));
        expect(codes.sort()).to.deep.equal(['done', 'forbidden']);
        const [last, ...others] = await people().of(null);
        expect(others).to.deep.equal([]);
        const refusal = await members()
          .remove(null, last?.id ?? '', last as User)
          .catch((error) => error);
        expect(refusal).to.include({
          code: 'forbidden',
          message: 'The last operator cannot be removed or demoted.',
        });
      });

      it('are nothing for somebody who is no operator, or no longer', async () => {
        const { bob } = await createSecondOperator();
        await members().remove(null, bob.id, first);
        const tried = [
          members().invite('ten_1', { note: 'Eve' }, bob),
          members().cancel(null, 'any', bob),
          members().remove(null, first.id, bob),
        ];
        expect(await Promise.all(tried.map(codeOf))).to.deep.equal(['forbidden', 'forbidden', 'forbidden']);
        expect(await invitations().open('ten_1')).to.deep.equal([]);
      });
    });
  });
});
