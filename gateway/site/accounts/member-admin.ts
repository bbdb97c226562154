import type { Transaction } from 'kysely';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError, inputError } from '../../errors.js';
import { hashSecret } from '../../keys/model.js';
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
import { addInvitation, claimInvitation, type Invitation, type Invitations, type Offer } from './people.js';
import type { Throttle } from './throttle.js';

interface MemberAdminOptions {
  database: Pick<SiteDatabase, 'kind'>;
  audited: Audited;
  invitations: Pick<Invitations, 'find'>;
  passwords: PasswordChecker;
  /** Of guessing links. */
  throttle: Throttle;
  /** Of learning which e-mails have an account through an invitation, which counts as the account here. */
  joining: Throttle;
  now: () => number;
}

/** Characters of a note. */
export const maxNote = 100;

const emailTakenProblem =
  'No account can be made with this e-mail. If you have one, sign in with it, then open this link again.';

export type MemberAdmin = ReturnType<typeof createMemberAdmin>;

/**
 * All changes of who belongs to a tenant, and who is an operator, each with its entry in the audit log in one transaction.
 * Only operators invite, cancel and remove, which that transaction checks: `by` may have been removed a moment ago. What
 * cannot be done rejects with a `GatewayError`. An invitation that cannot be used is `not_found`, whatever the reason.
 */
export function createMemberAdmin(options: MemberAdminOptions) {
  const { database, audited, invitations, passwords, throttle, joining, now } = options;

  async function claim(trx: Transaction<SiteTables>, token: string): Promise<Invitation> {
    const invitation = await claimInvitation(trx, token, now());
    if (!invitation) throw invitationGone();
    return invitation;
  }

  /** Somebody who belongs there already uses the invitation up all the same. */
  async function enter(
    trx: Transaction<SiteTables>,
    note: NoteAudit,
    { tenant_id, id }: Invitation,
    user: Pick<User, 'id' | 'email'>,
  ) {
    const row = { user_id: user.id, created_at: now() };
    const insert =
      tenant_id === null
        ? trx.insertInto('connect_operators').values(row)
        : trx.insertInto('connect_members').values({ tenant_id, ...row });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
    const subject = groupSubject(tenant_id, { invitation: id });
    await note({ actor: actorOf(user), action: 'member.join', ...subject });
  }

  return {
    /** `note` says for whom, in the operator's words. The token is shown this once. `invalid_input` with the field `note`. */
    async invite(group: Group, given: string, by: User): Promise<{ token: string; note: string }> {
      const note = checkNote(given);
      const token = await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const token = await addInvitation(trx, { tenant_id: group, note, created_by: by.email }, now());
        await log({ actor: actorOf(by), action: 'member.invite', ...groupSubject(group, { note }) });
        return token;
      });
      return { token, note };
    },

    /** False where there is no such invitation of this group any more. */
    async cancel(group: Group, invitation: string, by: User): Promise<boolean> {
      return audited(async (trx, log) => {
        await requireOperator(trx, by);
        const { numDeletedRows } = await trx
          .deleteFrom('connect_invitations')
          .where('id', '=', invitation)
          .where('tenant_id', group === null ? 'is' : '=', group)
          .where('used_at', 'is', null)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return false;
        const subject = groupSubject(group, { invitation });
        await log({ actor: actorOf(by), action: 'member.cancel_invite', ...subject });
        return true;
      });
    },

    /** Ends their invitations, too. `not_found` where they are not there; `forbidden` for the last operator. */
    async remove(group: Group, userId: string, by: User): Promise<void> {
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const email =
          group === null ? await removeOperator(trx, userId) : await removeMember(trx, group, userId);
        await endInvitationsBy(trx, email, group);
        await log({ actor: actorOf(by), action: 'member.remove', ...groupSubject(group, { email }) });
      });
    },

    /** An invitation that can be accepted. Attempts that find none count against the address: `rate_limited`. */
    async offer(token: string, address: string): Promise<Offer> {
      refuseTooMany(await throttle.attempt({ address }));
      const offer = await invitations.find(token);
      if (!offer) throw invitationGone();
      await throttle.succeed({ address });
      return offer;
    },

    /** Accepts with the account that is signed in. */
    async join(token: string, user: User): Promise<void> {
      await audited(async (trx, note) => enter(trx, note, await claim(trx, token), user));
    },

    /** What is wrong with a new account, by field. */
    problemsOf: (account: NewAccount) => accountProblems(passwords, account),

    /**
     * Accepts with a new account. `invalid_input` with each field that is wrong, also an e-mail that has an account;
     * `rate_limited` after too many of those.
     */
    async joinAs(token: string, account: NewAccount, address: string): Promise<void> {
      refuseProblems(await accountProblems(passwords, account));
      const attempt = { address, account: hashSecret(token) };
      refuseTooMany(await joining.attempt(attempt));
      const { email, name, password } = account;
      const hash = await hashPassword(password);
      // The one answer that reveals other people's accounts: it alone uses up an attempt.
      let revealed = false;
      try {
        await audited(async (trx, note) => {
          const invitation = await claim(trx, token);
          revealed = await hasAccount(trx, email);
          if (revealed) refuseProblems({ email: emailTakenProblem });
          const id = await addAccount(trx, database.kind, { email, name, hash }, now());
          await enter(trx, note, invitation, { id, email });
        });
      } finally {
        if (!revealed) await joining.succeed(attempt);
      }
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
  const removed = await trx
    .deleteFrom('connect_members')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (removed.numDeletedRows === 0n) throw personMissing();
  const user = trx.selectFrom('connect_users').select('email').where('id', '=', userId);
  return (await user.executeTakeFirstOrThrow()).email;
}

/**
 * Ends the invitations of a person who was removed, and may have kept a link: to one tenant, or all where an operator was removed.
 */
async function endInvitationsBy(trx: Transaction<SiteTables>, email: string, group: Group): Promise<void> {
  let query = trx
    .deleteFrom('connect_invitations')
    .where('used_at', 'is', null)
    .where('created_by', '=', email);
  if (group !== null) query = query.where('tenant_id', '=', group);
  await query.execute();
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

/** One message for a link that was used, was cancelled, has expired or never was. */
function invitationGone(): GatewayError {
  return new GatewayError('not_found', {
    message:
      'This invitation cannot be used: it was used before, cancelled, or is older than seven days. Ask for a new one.',
  });
}

function personMissing(): GatewayError {
  return new GatewayError('not_found', { message: 'This person is not here any more.' });
}
