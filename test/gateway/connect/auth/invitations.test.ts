import { expect } from 'chai';
import { createFirstOperator, FIRST_OPERATOR } from '../../../../gateway/connect/auth/first-operator.js';
import { createInvitations } from '../../../../gateway/connect/auth/invitations.js';
import { createPeople } from '../../../../gateway/connect/auth/people.js';
import type { ConnectDatabase } from '../../../../gateway/connect/database.js';
import { onEachDatabase } from '../../databases.js';
import { openConnectDatabase } from '../test-site.js';

const DAY = 86_400_000;

describe('connect/auth/invitations', () => {
  onEachDatabase((database) => {
    let connect: ConnectDatabase;
    let second: ConnectDatabase;
    beforeEach(async () => {
      // The store makes the file and the tables of tenants.
      await database().open();
      connect = await openConnectDatabase(database());
      second = await openConnectDatabase(database());
      await createFirstOperator(connect);
    });
    afterEach(() => Promise.all([connect.handle.destroy(), second.handle.destroy()]));

    it('takes up an invitation once, though two try at the same moment', async () => {
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
  });
});
