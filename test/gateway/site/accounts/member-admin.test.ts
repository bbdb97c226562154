import { expect } from 'chai';
import type { User } from '../../../../gateway/site/accounts/account.js';
import { createFirstOperator, firstOperatorEmail } from '../../../../gateway/site/accounts/first-operator.js';
import { createInvitations, createPeople } from '../../../../gateway/site/accounts/people.js';
import type { SiteDatabase } from '../../../../gateway/site/tables.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, operatorNamed, outcome } from '../members.js';
import { openConnectDatabase } from '../test-site.js';

const day = 86_400_000;
const address = '192.0.2.1';
const account = (email: string) => ({ email, name: '', password: 'correct horse battery' });

describe('site/accounts/member-admin', () => {
  onEachDatabase((database) => {
    let connect: SiteDatabase;
    let second: SiteDatabase;
    let first: User;
    beforeEach(async () => {
      // The store makes the file and the tables of tenants.
      await database().open();
      connect = await openConnectDatabase(database());
      second = await openConnectDatabase(database());
      await createFirstOperator(connect);
      first = await operatorNamed(connect, firstOperatorEmail);
    });
    afterEach(() => Promise.all([connect.handle.destroy(), second.handle.destroy()]));

    it('takes up an invitation once, though two try at the same moment', async () => {
      const one = createTestMembers(connect);
      const two = createTestMembers(second);
      const { token } = await one.invite('ten_1', 'Ada', first);
      const joined = await Promise.all([
        outcome(one.joinAs(token, account('ada@example.com'), address)),
        outcome(two.joinAs(token, account('eve@example.com'), address)),
      ]);
      expect(joined.sort()).to.deep.equal(['invalid', 'joined']);
      expect(await createPeople(second).members('ten_1')).to.have.length(1);
      expect(await createInvitations(connect).open('ten_1')).to.deep.equal([]);
      const users = await connect.run((db) => db.selectFrom('connect_users').select('email').execute());
      expect(users.map(({ email }) => email))
        .to.have.length(2)
        .and.include(firstOperatorEmail);
    });

    it('leaves an invitation open when the e-mail has an account already', async () => {
      const members = createTestMembers(connect);
      const ada = account('ada@example.com');
      await members.joinAs((await members.invite('ten_1', 'Ada', first)).token, ada, address);
      const { token } = await members.invite(null, 'Ada', first);
      expect(await outcome(members.joinAs(token, ada, address))).to.equal('email_taken');
      const people = createPeople(connect);
      const [user] = await people.members('ten_1');
      await members.join(token, user as User);
      expect((await people.operators()).map(({ email }) => email)).to.include('ada@example.com');
      expect((await people.rights(user?.id ?? '')).operator).to.equal(true);
    });

    it('tells nobody without an invitation whether there is an account', async () => {
      const members = createTestMembers(connect);
      for (const email of [firstOperatorEmail.replace('local', 'example'), 'operator@gateway.local']) {
        expect(await outcome(members.joinAs('no-such-token', account(email), address))).to.equal('invalid');
      }
    });

    it('keeps of an invitation only the hash, and lets it run out after seven days', async () => {
      let now = Date.now();
      const members = createTestMembers(connect, () => now);
      const invitations = createInvitations(connect, () => now);
      const { token } = await members.invite('ten_1', 'Ada', first);
      const rows = await connect.run((db) => db.selectFrom('connect_invitations').selectAll().execute());
      expect(JSON.stringify(rows)).not.to.include(token);
      now += 7 * day - 1;
      expect(await invitations.find(token)).to.include({ tenant_id: 'ten_1' });
      now += 1;
      expect(await invitations.find(token)).to.equal(undefined);
      expect(await outcome(members.join(token, first))).to.equal('invalid');
    });

    it('cancels an invitation of this tenant and of no other', async () => {
      const members = createTestMembers(connect);
      const { token } = await members.invite('ten_1', 'Ada', first);
      const [{ id } = { id: '' }] = await createInvitations(connect).open('ten_1');
      expect(await members.cancel('ten_2', id, first)).to.equal(false);
      expect(await members.cancel(null, id, first)).to.equal(false);
      expect(await members.cancel('ten_1', id, first)).to.equal(true);
      expect(await createInvitations(connect).find(token)).to.equal(undefined);
    });

    it('says for whom an invitation has to be', async () => {
      for (const note of ['', '  ', 'a'.repeat(101), 'two\nlines']) {
        const refusal = await createTestMembers(connect)
          .invite('ten_1', note, first)
          .catch((error) => error);
        expect(refusal, note).to.have.property('code', 'invalid_input');
        expect(refusal.details).to.deep.equal([
          { field: 'note', problem: 'must be 1 to 100 characters without control characters' },
        ]);
      }
      expect((await createTestMembers(connect).invite('ten_1', ' Ada ', first)).note).to.equal('Ada');
    });

    /** An operator beside the first, with an invitation of theirs to a tenant and one to be an operator. */
    async function createSecondOperator() {
      const members = createTestMembers(connect);
      const { token } = await members.invite(null, 'Bob', first);
      await members.joinAs(token, account('bob@example.com'), address);
      const bob = await operatorNamed(connect, 'bob@example.com');
      const tokens = [
        (await members.invite('ten_1', 'Eve', bob)).token,
        (await members.invite(null, 'Eve', bob)).token,
      ];
      return { members, invitations: createInvitations(connect), tokens, bob };
    }

    it('ends the open invitations of an operator who is removed, and nobody else’s', async () => {
      const { members, invitations, tokens, bob } = await createSecondOperator();
      const { token } = await members.invite('ten_1', 'Ada', first);
      await members.remove(null, bob.id, first);
      for (const ended of tokens) {
        expect(await invitations.find(ended)).to.equal(undefined);
        expect(await outcome(members.join(ended, bob))).to.equal('invalid');
      }
      const rows = await connect.run((db) =>
        db.selectFrom('connect_invitations').select(['created_by', 'used_at']).execute(),
      );
      expect(rows.filter(({ used_at }) => used_at === null)).to.have.length(1);
      expect(await invitations.find(token)).to.include({ note: 'Ada' });
    });

    it('takes no invitation whose inviter is no operator when it is taken up', async () => {
      const { members, invitations, tokens, bob } = await createSecondOperator();
      await connect.run((db) => db.deleteFrom('connect_operators').where('user_id', '=', bob.id).execute());
      for (const token of tokens) {
        expect(await invitations.find(token)).to.equal(undefined);
        expect(await outcome(members.joinAs(token, account('eve@example.com'), address))).to.equal('invalid');
        expect(await outcome(members.join(token, bob))).to.equal('invalid');
      }
      expect(await invitations.open('ten_1')).to.deep.equal([]);
      expect(await createPeople(connect).members('ten_1')).to.deep.equal([]);
    });

    it('ends what a removed member invited to the tenant, and to no other', async () => {
      const { members, invitations, tokens, bob } = await createSecondOperator();
      await members.join((await members.invite('ten_1', 'Bob', first)).token, bob);
      await members.remove('ten_1', bob.id, first);
      expect(await members.remove('ten_1', bob.id, first).catch((error) => error)).to.include({
        code: 'not_found',
        message: 'This person is not here any more.',
      });
      expect(await Promise.all(tokens.map((token) => invitations.find(token)))).to.have.nested.property(
        '1.id',
      );
      expect(await invitations.find(tokens[0] ?? '')).to.equal(undefined);
    });

    it('lets nobody in with an invitation that is taken up while its inviter is removed, or lets them in before', async () => {
      const { members, tokens, bob } = await createSecondOperator();
      const [joined] = await Promise.all([
        outcome(createTestMembers(second).joinAs(tokens[0] ?? '', account('eve@example.com'), address)),
        members.remove(null, bob.id, first),
      ]);
      expect(await createPeople(connect).members('ten_1')).to.have.length(joined === 'joined' ? 1 : 0);
      expect(await createInvitations(connect).open(null)).to.deep.equal([]);
    });

    it('lets one of two operators remain who remove each other at once', async () => {
      const { bob } = await createSecondOperator();
      const removed = await Promise.allSettled([
        createTestMembers(connect).remove(null, bob.id, first),
        createTestMembers(second).remove(null, first.id, bob),
      ]);
      expect(removed.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
      expect(await createPeople(connect).operators()).to.have.length(1);
    });

    it('keeps the last operator', async () => {
      const refusal = await createTestMembers(connect)
        .remove(null, first.id, first)
        .catch((error) => error);
      expect(refusal).to.include({ code: 'forbidden', message: 'The last operator cannot be removed.' });
    });

    it('does nothing for somebody who is no operator, or is one no more', async () => {
      const { members, bob } = await createSecondOperator();
      await members.remove(null, bob.id, first);
      const [{ id } = { id: '' }] = await createPeople(connect).operators();
      const refusals = await Promise.all(
        [
          members.invite('ten_1', 'Eve', bob),
          members.cancel(null, 'any', bob),
          members.remove(null, id, bob),
        ].map((tried) => (tried as Promise<unknown>).catch((error) => error.code)),
      );
      expect(refusals).to.deep.equal(['forbidden', 'forbidden', 'forbidden']);
      expect(await createInvitations(connect).open('ten_1')).to.deep.equal([]);
    });
  });
});
