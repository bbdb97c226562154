import { expect } from 'chai';
import { sql } from 'kysely';
import type { KeyStore } from '../../../../gateway/keys/store.js';
import { createAudited, type User } from '../../../../gateway/site/accounts/account.js';
import {
  createFirstOperator,
  firstOperatorEmail,
  resetOperator,
} from '../../../../gateway/site/accounts/first-operator.js';
import {
  changePassword,
  createSignIn,
  createSignInLog,
  type SignIn,
} from '../../../../gateway/site/accounts/sign-in.js';
import type { SiteDatabase } from '../../../../gateway/site/tables.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, operatorNamed } from '../members.js';
import { openConnectDatabase } from '../test-site.js';

const address = '192.0.2.1';
const ada = { email: 'ada@example.com', name: '', password: 'correct horse battery' };
const settings = { secret: 's'.repeat(43), baseUrl: 'http://127.0.0.1:8081', secureCookies: false };

/** From now on nothing can be added to the audit log. */
async function breakAudit({ kind, handle }: SiteDatabase): Promise<void> {
  const statements =
    kind === 'sqlite'
      ? [`create trigger no_audit before insert on audit begin select raise(abort, 'no more entries'); end`]
      : [
          `create function no_audit() returns trigger language plpgsql as $$ begin raise exception 'no more entries'; end $$`,
          'create trigger no_audit before insert on audit for each statement execute function no_audit()',
        ];
  for (const statement of statements) await sql.raw(statement).execute(handle);
}

describe('site/accounts: the audit log', () => {
  onEachDatabase(
    (database) => {
      let store: KeyStore;
      let connect: SiteDatabase;
      let first: User;
      let password: string;
      let signIn: SignIn;
      beforeEach(async () => {
        store = await database().open();
        connect = await openConnectDatabase(database());
        password = (await createFirstOperator(connect))?.password ?? '';
        first = await operatorNamed(connect, firstOperatorEmail);
        const audited = createAudited(connect);
        signIn = await createSignIn({ ...settings, database: connect, audited, logger: { debug() {} } });
      });
      afterEach(() => connect.handle.destroy());

      /** Everything that the site keeps of people. */
      async function snapshot(): Promise<unknown> {
        const tables = [
          'connect_operators',
          'connect_members',
          'connect_invitations',
          'connect_users',
        ] as const;
        const rows = await Promise.all(
          tables.map((table) => connect.run((db) => db.selectFrom(table).selectAll().execute())),
        );
        const passwords = await connect.run((db) =>
          db.selectFrom('connect_accounts').select(['userId', 'password']).execute(),
        );
        return { rows, passwords };
      }
      const noted = async () =>
        (await store.audit({ limit: 100 })).map(({ actor, action, tenant_id, detail }) => ({
          actor,
          action,
          tenant_id,
          detail,
        }));
      const refused = (work: Promise<unknown>) =>
        work.then(
          () => expect.fail('it was done without an entry'),
          (error) => expect(`${error.message} ${error.cause}`).to.include('no more entries'),
        );

      it('has an entry of every change to people', async () => {
        const members = createTestMembers(connect);
        const { token } = await members.invite('ten_1', 'Ada', first);
        await members.joinAs(token, ada, address);
        await members.invite(null, 'Eve', first);
        const [open] = await connect.run((db) =>
          db.selectFrom('connect_invitations').selectAll().where('used_at', 'is', null).execute(),
        );
        await members.cancel(null, open?.id ?? '', first);
        const [member] = await connect.run((db) => db.selectFrom('connect_members').selectAll().execute());
        await members.remove('ten_1', member?.user_id ?? '', first);
        await resetOperator(connect, undefined, 'cli:root');
        const actor = `user:${first.email}`;
        const entries = (await noted()).reverse();
        expect(entries.map(({ actor, action, tenant_id }) => [actor, action, tenant_id])).to.deep.equal([
          [actor, 'member.invite', 'ten_1'],
          [`user:${ada.email}`, 'member.join', 'ten_1'],
          [actor, 'member.invite', null],
          [actor, 'member.cancel_invite', null],
          [actor, 'member.remove', 'ten_1'],
          ['cli:root', 'operator.reset', null],
        ]);
        expect(entries.map(({ detail }) => detail).slice(2)).to.deep.equal([
          { note: 'Eve', operator: true },
          { invitation: open?.id, operator: true },
          { email: ada.email },
          { email: first.email },
        ]);
      });

      it('changes nothing about people that cannot be noted', async () => {
        const members = createTestMembers(connect);
        await members.joinAs((await members.invite(null, 'Ada', first)).token, ada, address);
        const adaUser = await operatorNamed(connect, ada.email);
        const { token } = await members.invite('ten_1', 'Bob', first);
        const [open] = await connect.run((db) =>
          db.selectFrom('connect_invitations').select('id').where('used_at', 'is', null).execute(),
        );
        const before = await snapshot();
        await breakAudit(connect);
        await refused(members.invite('ten_1', 'Eve', first));
        await refused(members.cancel('ten_1', open?.id ?? '', first));
        await refused(members.joinAs(token, { ...ada, email: 'bob@example.com' }, address));
        await refused(members.join(token, first));
        await refused(members.remove(null, adaUser.id, first));
        await refused(resetOperator(connect, undefined, 'cli:root'));
        await refused(signIn.changePassword(first, password, 'a new password of mine'));
        expect(await snapshot()).to.deep.equal(before);
      });

      it('notes who signs in, who fails to, and who changes their password, and never a password', async () => {
        await signIn.signIn(first.email, 'a wrong guess', address);
        await signIn.signIn(first.email.toUpperCase(), password, address);
        await signIn.changePassword(first, 'another wrong guess', 'a new password of mine');
        await signIn.changePassword(first, password, 'a new password of mine');
        const entries = (await noted()).reverse();
        expect(entries).to.deep.equal([
          {
            actor: `address:${address}`,
            action: 'account.sign_in_failed',
            tenant_id: null,
            detail: { tried: `"${first.email}"` },
          },
          { actor: `user:${first.email}`, action: 'account.sign_in', tenant_id: null, detail: { address } },
          { actor: `user:${first.email}`, action: 'account.change_password', tenant_id: null, detail: {} },
        ]);
        expect(JSON.stringify(entries))
          .not.to.match(/guess|new password/)
          .and.not.to.include(password);
      });

      it('lets nobody in whose sign-in cannot be noted', async () => {
        await breakAudit(connect);
        await refused(signIn.signIn(first.email, password, address));
      });

      it('takes a change of password once, for the password that it was asked with', async () => {
        const audited = createAudited(connect);
        const change = (next: string) =>
          changePassword({ database: connect, audited }, first, password, next);
        const changed = await Promise.all([change('one new password'), change('two new passwords')]);
        expect(changed.sort()).to.deep.equal([false, true]);
        expect((await noted()).filter(({ action }) => action === 'account.change_password')).to.have.length(
          1,
        );
      });

      it('cuts and quotes what was typed, and believes no address that is none', async () => {
        const log = createSignInLog(createAudited(connect));
        await log.failed(`ad"a\u202e\u0000${'a'.repeat(5_000)}`, { address: 'made up\n', through: 'Corp' });
        const [entry] = await noted();
        expect(entry?.actor).to.equal('address:unknown');
        expect(entry?.detail).to.have.property('through', 'Corp');
        expect(String(entry?.detail.tried)).to.match(/^"ad\\"a\\u\{202e\}\\u\{0\}a{50,60}…"$/);
      });

      it('is not flooded: past a number, failures are counted and said with the next entry', async () => {
        const log = createSignInLog(createAudited(connect));
        for (let n = 0; n < 130; n += 1) await log.failed(`user-${n}@example.com`, { address });
        expect(await store.audit({ limit: 1000 })).to.have.length(100);
        await log.succeeded(first, { address });
        await log.succeeded(first, { address });
        const details = (await noted()).slice(0, 2).map(({ detail }) => detail);
        expect(details).to.deep.equal([{ address }, { address, not_noted: 30 }]);
      });
    },
    { fresh: true },
  );
});
