import type { Transaction } from 'kysely';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError, inputError } from '../../errors.js';
import { hashSecret } from '../../keys/key-format.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import {
  type Audited,
  actorOf,
  addAccount,
  type Group,
  groupSubject,
  hashPassword,
  type NoteAudit,
  type User,
} from './account.js';
import { accountProblems, type NewAccount, type PasswordChecker } from './passwords.js';
import {
  addInvitation,
  cancelInvitation,
  claimInvitation,
  endInvitationsBy,
  type Invitation,
  type Invitations,
  type Offer,
} from './people.js';
import type { Throttle } from './throttle.js';

/**
 * Everything that changes who belongs to a tenant, and who is an operator, each change and its entry in the audit log in one
 * transaction. Only operators invite, cancel and remove, which is judged in that transaction: `by` may have been removed a
 * moment ago. What cannot be done rejects with a `GatewayError`.
 */
export interface MemberAdmin extends Joining {
  /** `note` says for whom, in the operator's words. The token is shown this once. `invalid_input` with the field `note`. */
  invite(group: Group, note: string, by: User): Promise<{ token: string; note: string }>;
  /** False where there is no such invitation any more. */
  cancel(group: Group, invitation: string, by: User): Promise<boolean>;
  /** Ends their invitations, too. `not_found` where they are not there; `forbidden` for the last operator. */
  remove(group: Group, userId: string, by: User): Promise<void>;
}

/** Characters of a note. */
export const maxNote = 100;

export function createMemberAdmin(options: JoiningOptions): MemberAdmin {
  const { audited, now } = options;
  return {
    ...createJoining(options),
    async invite(group, given, by) {
      const note = checkNote(given);
      const token = await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const token = await addInvitation(trx, { tenant_id: group, note, created_by: by.email }, now());
        await log({ actor: actorOf(by), action: 'member.invite', ...groupSubject(group, { note }) });
        return token;
      });
      return { token, note };
    },
    async cancel(group, invitation, by) {
      return audited(async (trx, log) => {
        await requireOperator(trx, by);
        const cancelled = await cancelInvitation(trx, group, invitation);
        if (cancelled) {
          await log({
            actor: actorOf(by),
            action: 'member.cancel_invite',
            ...groupSubject(group, { invitation }),
          });
        }
        return cancelled;
      });
    },
    async remove(group, userId, by) {
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const email =
          group === null ? await removeOperator(trx, userId) : await removeMember(trx, group, userId);
        await endInvitationsBy(trx, email, group);
        await log({ actor: actorOf(by), action: 'member.remove', ...groupSubject(group, { email }) });
      });
    },
  };
}

function checkNote(given: string): string {
  const note = given.trim();
  if (note !== '' && isLine(note, maxNote)) return note;
  const problem = `must be 1 to ${maxNote} characters without control characters`;
  throw inputError([{ field: 'note', problem }]);
}

async function requireOperator(trx: Transaction<SiteTables>, { id }: User): Promise<void> {
  const found = await trx
    .selectFrom('connect_operators')
    .select('user_id')
    .where('user_id', '=', id)
    .executeTakeFirst();
  if (!found)
    throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may do this.' });
}

async function removeOperator(trx: Transaction<SiteTables>, userId: string): Promise<string> {
  // All that changes operators holds the audit log's lock, so of two who remove each other at once, one remains.
  const all = await trx
    .selectFrom('connect_operators as role')
    .innerJoin('connect_users as user', 'user.id', 'role.user_id')
    .select(['user.id', 'user.email'])
    .execute();
  const person = all.find(({ id }) => id === userId);
  if (!person) throw personMissing();
  if (all.length === 1) {
    throw new GatewayError('forbidden', { message: 'The last operator cannot be removed.' });
  }
  await trx.deleteFrom('connect_operators').where('user_id', '=', userId).execute();
  return person.email;
}

async function removeMember(trx: Transaction<SiteTables>, tenantId: string, userId: string): Promise<string> {
  const person = await trx
    .selectFrom('connect_members as role')
    .innerJoin('connect_users as user', 'user.id', 'role.user_id')
    .select('user.email')
    .where('role.tenant_id', '=', tenantId)
    .where('role.user_id', '=', userId)
    .executeTakeFirst();
  if (!person) throw personMissing();
  await trx
    .deleteFrom('connect_members')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .execute();
  return person.email;
}

function personMissing(): GatewayError {
  return new GatewayError('not_found', { message: 'This person is not here any more.' });
}

/** Taking up an invitation: `not_found` where it cannot be used, for whatever reason; nobody is told which. */
interface Joining {
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

interface JoiningOptions {
  database: Pick<SiteDatabase, 'kind'>;
  audited: Audited;
  invitations: Pick<Invitations, 'find'>;
  passwords: PasswordChecker;
  /** Of guessing links. */
  throttle: Throttle;
  /** Of learning through an invitation, which counts as the account here, who has an account. */
  joining: Throttle;
  now: () => number;
}

type Member = Pick<User, 'id' | 'email'>;

const emailTakenProblem =
  'No account can be made with this e-mail. If you have one, sign in with it, then open this link again.';

function createJoining(options: JoiningOptions): Joining {
  const { database, audited, invitations, passwords, throttle, joining, now } = options;

  async function take(trx: Transaction<SiteTables>, token: string): Promise<Invitation> {
    const invitation = await claimInvitation(trx, token, now());
    if (!invitation) throw invitationGone();
    return invitation;
  }

  /** Who belongs there already uses the invitation up all the same. */
  async function enter(
    trx: Transaction<SiteTables>,
    note: NoteAudit,
    { tenant_id, id }: Invitation,
    user: Member,
  ) {
    const row = { user_id: user.id, created_at: now() };
    const insert =
      tenant_id === null
        ? trx.insertInto('connect_operators').values(row)
        : trx.insertInto('connect_members').values({ tenant_id, ...row });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
    await note({
      actor: actorOf(user),
      action: 'member.join',
      ...groupSubject(tenant_id, { invitation: id }),
    });
  }

  return {
    async offer(token, address) {
      refuseTooMany(await throttle.attempt({ address }));
      const offer = await invitations.find(token);
      if (!offer) throw invitationGone();
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
          if (told) refuseProblems({ email: emailTakenProblem });
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
function invitationGone(): GatewayError {
  return new GatewayError('not_found', {
    message:
      'This invitation cannot be used: it was used before, cancelled, or is older than seven days. Ask for a new one.',
  });
}
