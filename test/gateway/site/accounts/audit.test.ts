import { expect } from 'chai';
import { sql } from 'kysely';
import type { KeyStore } from '../../../../gateway/keys/store.js';
import {
  createAudited,
  createFirstOperator,
  firstOperatorEmail,
  resetOperator,
  type User,
} from '../../../../gateway/site/accounts/account.js';
import { createSignIn, createSignInLog, type SignIn } from '../../../../gateway/site/accounts/sign-in.js';
import type { SiteDatabase } from '../../../../gateway/site/tables.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, operatorNamed } from '../members.js';
import { client, type OpenedSiteDatabase, openConnectDatabase, signInSettings } from '../test-site.js';

const { address } = client;
const ada = { email: 'ada@example.com', name: '', password: 'correct horse battery' };

/** From now on nothing can be added to the audit log. */
async function breakAudit({ kind, run }: SiteDatabase): Promise<void> {
  const statements =
    kind === 'sqlite'
      ? [`create trigger no_audit before insert on audit begin select raise(abort, 'no more entries'); end`]
      : [
          `create function no_audit() returns trigger language plpgsql as $$ begin raise exception 'no more entries'; end $$`,
          'create trigger no_audit before insert on audit for each statement execute function no_audit()',
        ];
  for (const statement of statements) await run((db) => sql.raw(statement).execute(db));
}

describe('site/accounts: the audit log', () => {
  onEachDatabase(
    (database) => {
      let store: KeyStore;
      let connect: OpenedSiteDatabase;
      let first: User;
      let password: string;
      let signIn: SignIn;
      beforeEach(async () => {
        store = await database().open();
        connect = await openConnectDatabase(database());
        password = (await createFirstOperator(connect))?.password ?? '';
        first = await operatorNamed(connect, firstOperatorEmail);
        signIn = createSignIn({ ...signInSettings, database: connect });
      });
      afterEach(() => connect.close());

      const tables = [
        'connect_operators',
        'connect_members',
        'connect_invitations',
        'connect_users',
        'connect_sessions',
      ] as const;
      /** Everything that the site has of people. */
      const snapshot = () =>
        Promise.all(tables.map((table) => connect.run((db) => db.selectFrom(table).selectAll().execute())));
      /** All entries, oldest first. */
      const noted = async () =>
        (await store.audit({ limit: 1000 }))
          .map(({ actor, action, tenant_id, detail }) => [actor, action, tenant_id, detail] as const)
          .reverse();
      const openInvitation = () =>
        connect.run((db) =>
          db
            .selectFrom('connect_invitations')
            .select('id')
            .where('used_at', 'is', null)
            .executeTakeFirstOrThrow(),
        );

      it('has an entry of every change to people', async () => {
        const members = createTestMembers(connect);
        const { token } = await members.invite('ten_1', { note: 'Ada' }, first);
        await members.joinAs(token, ada, address);
        await members.invite(null, { note: 'Eve' }, first);
        const { id } = await openInvitation();
        await members.cancel(null, id, first);
        const [member] = await connect.run((db) => db.selectFrom('connect_members').selectAll().execute());
        await members.remove('ten_1', member?.user_id ?? '', first);
        await resetOperator(connect, undefined, 'cli:root');
        const actor = `user:${first.email}`;
        const [invited, joined, ...others] = await noted();
        expect(invited).to.deep.equal([actor, 'member.invite', 'ten_1', { note: 'Ada', role: 'member' }]);
        expect(joined?.slice(0, 3)).to.deep.equal([`user:${ada.email}`, 'member.join', 'ten_1']);
        expect(joined?.[3]).to.include({ role: 'member' });
        expect(others).to.deep.equal([
          [actor, 'member.invite', null, { note: 'Eve', role: 'operator', operator: true }],
          [actor, 'member.cancel_invite', null, { invitation: id, operator: true }],
          [actor, 'member.remove', 'ten_1', { email: ada.email }],
          ['cli:root', 'operator.reset', null, { email: first.email }],
        ]);
      });

      it('changes nothing about people, and lets nobody in, where that cannot be noted', async () => {
        const members = createTestMembers(connect);
        await members.joinAs((await members.invite(null, { note: 'Ada' }, first)).token, ada, address);
        const { id: adaId } = await operatorNamed(connect, ada.email);
        const { token } = await members.invite('ten_1', { note: 'Bob' }, first);
        const { id } = await openInvitation();
        const before = await snapshot();
        await breakAudit(connect);
        for (const work of [
          () => members.invite('ten_1', { note: 'Eve' }, first),
          () => members.cancel('ten_1', id, first),
          () => members.joinAs(token, { ...ada, email: 'bob@example.com' }, address),
          () => members.join(token, first),
          () => members.remove(null, adaId, first),
          () => resetOperator(connect, undefined, 'cli:root'),
          () => signIn.changePassword(first, password, 'a new password of mine', client),
          () => signIn.signIn(first.email, password, client),
        ]) {
          const error = await work().then(
            () => 'done without an entry',
            (error) => error,
          );
          expect(`${error.message} ${error.cause}`, String(work)).to.include('no more entries');
        }
        expect(await snapshot()).to.deep.equal(before);
      });

      it('notes who signs in, who fails to, and who changes their password, and never a password', async () => {
        await signIn.signIn(first.email, 'a wrong guess', client);
        await signIn.signIn(first.email.toUpperCase(), password, client);
        await signIn.changePassword(first, 'another wrong guess', 'a new password of mine', client);
        // Once, for the password that the change was asked with.
        const changes = ['one new password', 'two new passwords'].map((next) =>
          signIn.changePassword(first, password, next, client),
        );
        expect((await Promise.all(changes)).filter(Boolean)).to.have.length(1);
        expect(await noted()).to.deep.equal([
          [`address:${address}`, 'account.sign_in_failed', null, { tried: `"${first.email}"` }],
          [`user:${first.email}`, 'account.sign_in', null, { address }],
          [`user:${first.email}`, 'account.change_password', null, {}],
        ]);
      });

      it('cuts and quotes what was typed, and believes no address that is none', async () => {
        const log = createSignInLog(createAudited(connect));
        await log.failed(`ad"a\u202e\u0000${'a'.repeat(5_000)}`, { address: 'made up\n', through: 'Corp' });
        const [[actor, , , detail] = []] = await noted();
        expect([actor, detail?.through]).to.deep.equal(['address:unknown', 'Corp']);
        expect(String(detail?.tried)).to.match(/^"ad\\"a\\u\{202e\}\\u\{0\}a{50,60}…"$/);
      });

      it('is not flooded: past a number, failures are counted and said with the next entry', async () => {
        const log = createSignInLog(createAudited(connect));
        for (let n = 0; n < 130; n += 1) await log.failed(`user-${n}@example.com`, { address });
        for (const _ of [1, 2]) await log.succeeded(first, { address }, async () => undefined);
        const entries = await noted();
        expect(entries).to.have.length(102);
        const details = entries.slice(100).map(([, , , detail]) => detail);
        expect(details).to.deep.equal([{ address, not_noted: 30 }, { address }]);
      });
    },
    { fresh: true },
  );
});
