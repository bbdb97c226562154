import { expect } from 'chai';
import fc from 'fast-check';
import { Secret, TOTP } from 'otpauth';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import {
  addAccount,
  createFirstOperator,
  firstOperatorEmail,
  resetOperator,
  type User,
} from '../../../../gateway/site/accounts/account.js';
import { createSecondFactor } from '../../../../gateway/site/accounts/second-factor.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, operatorNamed } from '../members.js';
import { type OpenedSiteDatabase, openConnectDatabase, signInSettings } from '../test-site.js';

const step = 30_000;
const start = 60_000_000 * step;

describe('site/accounts: the second factor', () => {
  onEachDatabase((database) => {
    let connect: OpenedSiteDatabase;
    let user: User;
    let now: number;
    beforeEach(async () => {
      await database().open();
      connect = await openConnectDatabase(database());
      await createFirstOperator(connect);
      user = await operatorNamed(connect, firstOperatorEmail);
      now = start;
    });
    afterEach(() => connect.close());

    const master = 'm'.repeat(32);
    const factor = (masters: string[] | null = [master]) =>
      createSecondFactor({
        ...{ ...signInSettings, database: connect, now: () => now },
        signing: createSigningSecrets(masters ?? undefined),
      });
    const codeOf = (text: string, timestamp = now) =>
      new TOTP({ secret: Secret.fromBase32(text) }).generate({ timestamp });
    async function turnOn(by = factor()) {
      const { sealed, text } = by.secretFor(user, '');
      const codes = await by.turnOn(user, sealed, codeOf(text));
      return { text, sealed, codes: codes ?? [] };
    }
    const addPerson = (email: string) =>
      connect.change((trx) => addAccount(trx, { email, name: '', password: '' }));
    const audit = async () => {
      const rows = await database().open();
      return (await rows.audit({ limit: 10 })).map(({ action, detail }) => ({ action, detail }));
    };

    it('is turned on by a code of its secret, once, and shows ten recovery codes', async () => {
      const { sealed, text } = factor().secretFor(user, '');
      expect(factor().secretFor(user, sealed)).to.include({ sealed, text });
      expect(await factor().turnOn(user, sealed, '000000')).to.equal(undefined);
      const made = await Promise.all([1, 2].map(() => factor().turnOn(user, sealed, codeOf(text))));
      const [codes, ...others] = made.filter((each) => each !== undefined);
      expect(others).to.deep.equal([]);
      expect(codes).to.have.length(10);
      expect(codes?.[0]).to.match(/^([a-z2-9]{4}-){3}[a-z2-9]{4}$/);
      expect(await factor().codesLeft(user.id)).to.equal(10);
      const row = await connect.run((db) => db.selectFrom('connect_users').selectAll().executeTakeFirst());
      expect(JSON.stringify(row)).not.to.include(text);
    });

    it('accepts the code of a clock that is off by a step, and no more', async () => {
      const { text } = await turnOn();
      for (const [after, off, passes] of [
        [10, -2, false],
        [10, 2, false],
        [20, -1, true],
        [30, 0, true],
        [40, 1, true],
      ] as const) {
        now = start + after * step;
        expect(await factor().pass(user, codeOf(text, now + off * step)), `${off}`).to.equal(passes);
      }
    });

    it('accepts a code once, of two gateways that get it at once too', async () => {
      const { text } = await turnOn();
      expect(await factor().pass(user, codeOf(text)), 'the one that turned it on').to.equal(false);
      now += 5 * step;
      const code = codeOf(text);
      const passed = await Promise.all([factor().pass(user, code), factor().pass(user, code)]);
      expect(passed.sort()).to.deep.equal([false, true]);
      expect(await factor().pass(user, codeOf(text, now - step)), 'an older one').to.equal(false);
    });

    it('accepts a recovery code once, which is audited', async () => {
      const { codes } = await turnOn();
      const [code = ''] = codes;
      const typed = ` ${code.toUpperCase().replaceAll('-', ' ')} `;
      expect(await factor().pass(user, typed)).to.equal(true);
      expect(await factor().pass(user, code)).to.equal(false);
      expect((await audit())[0]).to.deep.equal({ action: 'account.recovery_code', detail: {} });
      expect(await factor().codesLeft(user.id)).to.equal(9);
    });

    it('is sealed for its owner, and by a key that the database does not hold', async () => {
      const { sealed, text } = await turnOn();
      const eve = { id: await addPerson('eve@example.com'), email: 'eve@example.com', name: '' };
      expect(factor().secretFor(eve, sealed).text).not.to.equal(text);
      expect(factor(null).secretFor(user, sealed).text).not.to.equal(text);
      expect(factor(['n'.repeat(32), master]).secretFor(user, sealed).text).to.equal(text);
      // What a gateway without a master secret sealed is read when it has one.
      const before = factor(null).secretFor(user, '');
      expect(factor().secretFor(user, before.sealed).text).to.equal(before.text);
    });

    it('is ended by another operator and by a reset, which leaves no recovery codes', async () => {
      const { codes } = await turnOn();
      const members = createTestMembers(connect);
      const itself = await members.endSecondFactor(user.id, user).catch((error) => error);
      expect(itself.message).to.include('Turn your own off under Account');
      const row = { user_id: await addPerson('ann@example.com'), created_at: now };
      await connect.run((db) => db.insertInto('connect_operators').values(row).execute());
      const ann = await operatorNamed(connect, 'ann@example.com');
      expect(await members.endSecondFactor(user.id, ann)).to.equal(true);
      expect(await members.endSecondFactor(user.id, ann)).to.equal(false);
      expect(await factor().pass(user, codes[0] ?? '')).to.equal(false);
      const ended = { email: user.email, state: 'ended' };
      expect((await audit())[0]).to.deep.equal({ action: 'account.second_factor', detail: ended });
      await turnOn();
      await resetOperator(connect, undefined, 'cli:root');
      expect(await factor().codesLeft(user.id)).to.equal(0);
      const detail = { email: user.email, second_factor: 'ended' };
      expect((await audit())[0]).to.deep.equal({ action: 'operator.reset', detail });
    });
  });

  it('holds for any order of codes: each step passes once, and none before a later one', async () => {
    const { createSqliteDatabase } = await import('../../databases.js');
    const database = await createSqliteDatabase();
    await database.open();
    const connect = await openConnectDatabase(database);
    await createFirstOperator(connect);
    const user = await operatorNamed(connect, firstOperatorEmail);
    let now = start;
    const factor = createSecondFactor({
      ...{ ...signInSettings, database: connect, now: () => now },
      signing: createSigningSecrets(undefined),
    });
    const { sealed, text } = factor.secretFor(user, '');
    const totp = new TOTP({ secret: Secret.fromBase32(text) });
    await factor.turnOn(user, sealed, totp.generate({ timestamp: now }));
    let last = now / step;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2 }),
        fc.integer({ min: -2, max: 2 }),
        async (ahead, off) => {
          now += ahead * step;
          const at = now / step + off;
          const passed = await factor.pass(user, totp.generate({ timestamp: at * step }));
          expect(passed).to.equal(Math.abs(off) <= 1 && at > last);
          if (passed) last = at;
        },
      ),
      { numRuns: 60 },
    );
    await connect.close();
    await database.drop();
  });
});
