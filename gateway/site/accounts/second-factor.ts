import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { hashSecret } from '../../keys/model.js';
import type { DerivedSecrets } from '../../signing/signing-secrets.js';
import type { SiteDatabase } from '../tables.js';
import { actorOf, createAudited, endSecondFactor, randomLetters, type User } from './account.js';

/** Whose account needs a second factor: that of nobody, of the staff, or of everybody. */
export type SecondFactorPolicy = 'optional' | 'operators' | 'all';

interface SecondFactorOptions {
  database: SiteDatabase;
  /** Of the database: what seals where there is no master secret. */
  secret: string;
  signing: { accounts: DerivedSecrets };
  /** Names this gateway in an app. */
  baseUrl: string;
  now: () => number;
}

/** How far a phone's clock may be off: a step of 30 seconds, each way. */
const window = 1;
const recoveryCodes = 10;

export type SecondFactor = ReturnType<typeof createSecondFactor>;

/** One-time passwords by time (RFC 6238), and recovery codes in place of a lost phone. */
export function createSecondFactor({ database, secret, signing, baseUrl, now }: SecondFactorOptions) {
  const audited = createAudited(database, now);
  const { seal, unseal } = createSeal(secret, signing.accounts);

  function totpOf(base32: string, { email }: Pick<User, 'email'>): TOTP {
    const issuer = `helper-gateway ${new URL(baseUrl).host}`;
    return new TOTP({ issuer, label: email, secret: Secret.fromBase32(base32) });
  }

  /** The time step whose code this is; undefined where it is that of none about now. */
  function stepOf(sealed: string, user: User, code: string): number | undefined {
    const base32 = unseal(sealed, user.id);
    const timestamp = now();
    const delta = base32 && totpOf(base32, user).validate({ token: code, window, timestamp });
    return typeof delta === 'number' ? TOTP.counter({ timestamp }) + delta : undefined;
  }

  return {
    /**
     * The secret that a form sent back or else a new one: sealed for the form that turns it on, as text, and as the address
     * that a QR code holds.
     */
    secretFor(user: User, sent: string): { sealed: string; text: string; address: string } {
      const known = unseal(sent, user.id);
      const text = known ?? new Secret({ size: 20 }).base32;
      return { sealed: known ? sent : seal(text, user.id), text, address: totpOf(text, user).toString() };
    },

    /** Turns it on; answers with the recovery codes, this once, or undefined where the code is wrong. */
    async turnOn(user: User, sealed: string, code: string): Promise<string[] | undefined> {
      const step = stepOf(sealed, user, digitsOf(code));
      if (step === undefined) return undefined;
      const codes = Array.from({ length: recoveryCodes }, () => randomLetters(16, 4));
      return audited(async (trx, note) => {
        const update = trx.updateTable('connect_users').where('id', '=', user.id);
        // Of two forms that are sent at once, one turns it on.
        const on = update.set({ second_factor: sealed, second_factor_step: step });
        const { numUpdatedRows } = await on.where('second_factor', 'is', null).executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n) return undefined;
        const rows = codes.map((code) => ({ user_id: user.id, hash: hashSecret(lettersOf(code)) }));
        await trx.insertInto('connect_recovery_codes').values(rows).execute();
        await note({ actor: actorOf(user), action: 'account.second_factor', detail: { state: 'on' } });
        return codes;
      });
    },

    /** Uses a code up: one by time works once and never after a later one, a recovery code once, which is audited. */
    pass: (user: User, code: string): Promise<boolean> =>
      audited(async (trx, note) => {
        const users = trx.selectFrom('connect_users').select('second_factor').where('id', '=', user.id);
        const sealed = (await users.executeTakeFirst())?.second_factor ?? '';
        const step = stepOf(sealed, user, digitsOf(code));
        if (step !== undefined) {
          const update = trx.updateTable('connect_users').set({ second_factor_step: step });
          const newer = update.where('id', '=', user.id).where('second_factor_step', '<', step);
          return (await newer.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
        }
        const codes = trx.deleteFrom('connect_recovery_codes').where('user_id', '=', user.id);
        const used = await codes.where('hash', '=', hashSecret(lettersOf(code))).executeTakeFirstOrThrow();
        if (used.numDeletedRows === 0n) return false;
        await note({ actor: actorOf(user), action: 'account.recovery_code', detail: {} });
        return true;
      }),

    /** For who has proved password and code. */
    turnOff: (user: User): Promise<void> =>
      audited(async (trx, note) => {
        if ((await endSecondFactor(trx, user.id)) === undefined) return;
        await note({ actor: actorOf(user), action: 'account.second_factor', detail: { state: 'off' } });
      }),

    /** How many recovery codes are left. */
    codesLeft: (userId: string): Promise<number> =>
      database.run(async (db) => {
        const codes = db.selectFrom('connect_recovery_codes').select('hash').where('user_id', '=', userId);
        return (await codes.execute()).length;
      }),
  };
}

/** Apps show a code as `123 456`. */
const digitsOf = (code: string) => code.replace(/\s/g, '');
const lettersOf = (code: string) => code.toLowerCase().replace(/[^a-z0-9]/g, '');

/**
 * AES-256-GCM, for one owner each. The key comes from the master secret, which no database holds; without one, from the
 * database's own secret, which protects from who reads the table of users alone. What any of the keys sealed is read.
 */
function createSeal(secret: string, accounts: DerivedSecrets) {
  const masters = accounts.available ? accounts.all('second-factor', 1) : [];
  const keys = [...masters, secret].map((text) =>
    Buffer.from(hkdfSync('sha256', text, '', 'second factor', 32)),
  );
  return {
    seal(text: string, owner: string): string {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', keys[0] as Buffer, iv).setAAD(Buffer.from(owner));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    /** Undefined where it was sealed for another owner, or by a key that is gone. */
    unseal(sealed: string, owner: string): string | undefined {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < 28) return undefined;
      for (const key of keys) {
        try {
          const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
          decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(12, 28));
          return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
        } catch {
          // The next key may be the right one.
        }
      }
      return undefined;
    },
  };
}
