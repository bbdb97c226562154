import type { Transaction } from 'kysely';
import { GatewayError, inputError } from '../../errors.js';
import { hashSecret } from '../../keys/hash-secret.js';
import type { SiteDatabase } from '../database.js';
import type { SiteTables } from '../tables.js';
import { addAccount } from './account.js';
import type { Audited, Note } from './audited.js';
import { about } from './group.js';
import { type Invitation, type Invitations, type Offer, takeInvitation } from './invitations.js';
import { accountProblems, type NewAccount } from './new-account.js';
import { hashPassword } from './password-hash.js';
import type { PasswordJudge } from './password-judge.js';
import { actorOf, type User } from './session.js';
import type { Throttle } from './throttle.js';

/** Taking up an invitation: `not_found` where it cannot be used, for whatever reason; nobody is told which. */
export interface Joining {
  /** One that can be taken up. Tries that find none count against the address: `rate_limited`. */
  offer(token: string, address: string): Promise<Offer>;
  /** With the account that is signed in. */
  join(token: string, user: User): Promise<void>;
  /**
   * With a new account. `invalid_input` with each field that is wrong, an e-mail too that has an account; `rate_limited` for who
   * tries too many of those.
   */
  joinAs(token: string, account: NewAccount, address: string): Promise<void>;
  /** What is wrong with a new account, by field. */
  problemsOf(account: NewAccount): Promise<Record<string, string>>;
}

export interface JoiningOptions {
  database: Pick<SiteDatabase, 'kind'>;
  audited: Audited;
  invitations: Pick<Invitations, 'find'>;
  passwords: PasswordJudge;
  /** Of guessing links. */
  throttle: Throttle;
  /** Of learning through an invitation, which counts as the account here, who has an account. */
  joining: Throttle;
  now: () => number;
}

type Member = Pick<User, 'id' | 'email'>;

const notNew =
  'No account can be made with this e-mail. If you have one, sign in with it, then open this link again.';

export function createJoining(options: JoiningOptions): Joining {
  const { database, audited, invitations, passwords, throttle, joining, now } = options;

  async function take(trx: Transaction<SiteTables>, token: string): Promise<Invitation> {
    const invitation = await takeInvitation(trx, token, now());
    if (!invitation) throw gone();
    return invitation;
  }

  /** Who belongs there already uses the invitation up all the same. */
  async function enter(
    trx: Transaction<SiteTables>,
    note: Note,
    { tenant_id, id }: Invitation,
    user: Member,
  ) {
    const row = { user_id: user.id, created_at: now() };
    const insert =
      tenant_id === null
        ? trx.insertInto('connect_operators').values(row)
        : trx.insertInto('connect_members').values({ tenant_id, ...row });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
    await note({ actor: actorOf(user), action: 'member.join', ...about(tenant_id, { invitation: id }) });
  }

  return {
    async offer(token, address) {
      refuseTooMany(await throttle.attempt({ address }));
      const offer = await invitations.find(token);
      if (!offer) throw gone();
      await throttle.succeed({ address });
      return offer;
    },
    async join(token, user) {
      await audited(async (trx, note) => enter(trx, note, await take(trx, token), user));
    },
    problemsOf: (account) => accountProblems(passwords, account),
    async joinAs(token, account, address) {
      refuseProblems(await accountProblems(passwords, account));
      const tryer = { address, account: hashSecret(token) };
      refuseTooMany(await joining.attempt(tryer));
      const { email, name, password } = account;
      const hash = await hashPassword(password);
      // The one answer that tells of others' accounts: it alone uses up a try.
      let told = false;
      try {
        await audited(async (trx, note) => {
          const invitation = await take(trx, token);
          told = await hasAccount(trx, email);
          if (told) refuseProblems({ email: notNew });
          const id = await addAccount(trx, database.kind, { email, name, hash }, now());
          await enter(trx, note, invitation, { id, email });
        });
      } finally {
        if (!told) await joining.succeed(tryer);
      }
    },
  };
}

async function hasAccount(trx: Transaction<SiteTables>, email: string): Promise<boolean> {
  const found = await trx
    .selectFrom('connect_users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirst();
  return found !== undefined;
}

function refuseProblems(problems: Record<string, string>): void {
  const details = Object.entries(problems).map(([field, problem]) => ({ field, problem }));
  if (details.length > 0) throw inputError(details);
}

function refuseTooMany(wait: number): void {
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
}

/** One message for a link that was used, cancelled, has run out or never was. */
function gone(): GatewayError {
  return new GatewayError('not_found', {
    message:
      'This invitation cannot be used: it was used before, cancelled, or is older than seven days. Ask for a new one.',
  });
}
