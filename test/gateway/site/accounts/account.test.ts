import { getMigrations } from 'better-auth/db/migration';
import { expect } from 'chai';
import { createAudited, momentOf } from '../../../../gateway/site/accounts/account.js';
import { authOptions } from '../../../../gateway/site/accounts/auth.js';
import {
  createFirstOperator,
  firstOperatorEmail,
  resetOperator,
} from '../../../../gateway/site/accounts/first-operator.js';
import { createSignIn } from '../../../../gateway/site/accounts/sign-in.js';
import { createFormMarks } from '../../../../gateway/site/form-guard.js';
import { loadSecret } from '../../../../gateway/site/site.js';
import type { SiteDatabase } from '../../../../gateway/site/tables.js';
import { onEachDatabase } from '../../databases.js';
import { openConnectDatabase } from '../test-site.js';

const day = 86_400_000;
const address = '192.0.2.1';
const silent = { debug() {} };
const settings = { secret: 's'.repeat(43), baseUrl: 'http://127.0.0.1:8081', secureCookies: false };

function openSignIn(database: SiteDatabase) {
  return createSignIn({ ...settings, database, audited: createAudited(database), logger: silent });
}

describe('site: accounts', () => {
  onEachDatabase((database) => {
    let connect: SiteDatabase;
    let second: SiteDatabase;
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
      expect(operator?.email).to.equal(firstOperatorEmail);
      expect(operator?.password).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/);
      expect(await createFirstOperator(second)).to.equal(undefined);
      const auth = await openSignIn(second);
      expect(await auth.signIn(firstOperatorEmail, operator?.password ?? '', address)).to.have.property(
        'cookies',
      );
    });

    it('knows a session that another gateway opened', async () => {
      const operator = await createFirstOperator(connect);
      const one = await openSignIn(connect);
      const two = await openSignIn(second);
      const signed = await one.signIn(firstOperatorEmail, operator?.password ?? '', address);
      const cookie = signed?.cookies[0]?.split(';')[0] ?? '';
      expect((await two.session(cookie))?.session.user.email).to.equal(firstOperatorEmail);
      await two.signOut(cookie);
      expect(await one.session(cookie)).to.equal(undefined);
    });

    it('keeps the newest sessions of an account, and none that has run out', async () => {
      const operator = await createFirstOperator(connect);
      const auth = await openSignIn(connect);
      const signIn = () => auth.signIn(firstOperatorEmail, operator?.password ?? '', address);
      const sessions = () => connect.run((db) => db.selectFrom('connect_sessions').selectAll().execute());
      for (let n = 0; n < 21; n += 1) await signIn();
      expect(await sessions()).to.have.length(20);
      const past = momentOf(connect.kind, Date.now() - day);
      await connect.run((db) => db.updateTable('connect_sessions').set({ expiresAt: past }).execute());
      const newest = await signIn();
      expect(await sessions()).to.have.length(1);
      expect(await auth.session(newest?.cookies[0]?.split(';')[0] ?? '')).to.have.property('session');
    });

    it('gives an operator who forgot the password another, and ends their sessions', async () => {
      const operator = await createFirstOperator(connect);
      const auth = await openSignIn(connect);
      const signed = await auth.signIn(firstOperatorEmail, operator?.password ?? '', address);
      const reset = await resetOperator(second, undefined, 'cli:root');
      expect(reset.email).to.equal(firstOperatorEmail);
      expect(await auth.session(signed?.cookies[0]?.split(';')[0] ?? '')).to.equal(undefined);
      expect(await auth.signIn(firstOperatorEmail, operator?.password ?? '', address)).to.equal(undefined);
      expect(await auth.signIn(firstOperatorEmail, reset.password, address)).to.have.property('cookies');
      const nobody = 'nobody\u001b[31m@example.com';
      const refusal = await resetOperator(second, nobody, 'cli:root').catch((error) => error);
      const message = 'There is no operator "nobody\\u{1b}[31m@example.com".';
      expect(refusal).to.include({ code: 'not_found', message });
    });

    it('lets a form through once, on whichever gateway, and forgets it after a day', async () => {
      let now = Date.now();
      const [one, two] = [createFormMarks(connect, () => now), createFormMarks(second, () => now)];
      const mark = one.mark();
      const claims = await Promise.all([one.claim(mark), two.claim(mark)]);
      expect(claims.sort()).to.deep.equal([false, true]);
      await one.release(mark);
      expect(await two.claim(mark)).to.equal(true);
      now += day + 1;
      await one.claim(one.mark());
      const rows = await connect.run((db) => db.selectFrom('connect_once').selectAll().execute());
      expect(rows).to.have.length(1);
    });
  });
});
