import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError, inputError } from '../../errors.js';
import { hashSecret } from '../../keys/model.js';
import type { InvitationRow, Role, SiteDatabase, SiteTables } from '../tables.js';
import {
  actorOf,
  addAccount,
  type By,
  createAudited,
  endSecondFactor,
  type Group,
  groupSubject,
  hashPassword,
  type NoteAudit,
  newId,
  type User,
} from './account.js';
import { accountProblems, type NewAccount, type PasswordChecker } from './passwords.js';
import {
  createInvitations,
  invitationHashes,
  type Offer,
  peopleIn,
  rolesOf,
  siteRoleOf,
  usableAt,
} from './people.js';
import type { Throttle } from './throttle.js';

const invitationLifetimeMs = 7 * 86_400_000;

interface MemberAdminOptions {
  database: SiteDatabase;
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

/** What operators change, and how people accept invitations. */
export function createMemberAdmin({ database, passwords, throttle, joining, now }: MemberAdminOptions) {
  const audited = createAudited(database, now);
  const invitations = createInvitations(database, now);

  /** Marks it used, in the statement that checks that it is not: of two that claim it at once, one succeeds. */
  async function claim(trx: Transaction<SiteTables>, token: string): Promise<InvitationRow> {
    const row = await trx
      .updateTable('connect_invitations')
      .set({ used_at: now() })
      .where('token_hash', 'in', invitationHashes(token))
      .where(usableAt(now()))
      .returningAll()
      .executeTakeFirst();
    if (!row) throw invitationGone();
    return row;
  }

  /** Somebody who belongs there already uses the invitation up all the same; a reader may gain a role by it, and nobody loses one. */
  async function enter(
    trx: Transaction<SiteTables>,
    note: NoteAudit,
    { tenant_id, id, role: given }: InvitationRow,
    user: Pick<User, 'id' | 'email'>,
  ) {
    const [full] = rolesOf(tenant_id);
    const before = await placeOf(trx, tenant_id, user.id);
    const role = before?.role === full ? full : (given ?? full);
    await givePlace(trx, { tenant_id, user_id: user.id, created_at: before?.since ?? now() }, role);
    const subject = groupSubject(tenant_id, { invitation: id, role });
    await note({ actor: actorOf(user), action: 'member.join', ...subject });
  }

  return {
    ...createMemberChanges(database, now),

    /** An invitation that can be accepted. Attempts that find none count against the address: `rate_limited`. */
    async offer(token: string, address: string): Promise<Offer> {
      refuseTooMany(await throttle.attempt({ address }));
      const offer = await invitations.find(token);
      if (!offer) throw invitationGone();
      await throttle.succeed({ address });
      return offer;
    },

    /** Accepts with the account that is signed in. */
    join: (token: string, user: User): Promise<void> =>
      audited(async (trx, note) => enter(trx, note, await claim(trx, token), user)),

    /** What is wrong with a new account, by field. */
    problemsOf: (account: NewAccount) => accountProblems(passwords, account),

    /** Accepts with a new account: `invalid_input` by field; `rate_limited` after too many known e-mails. */
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
          const existing = trx.selectFrom('connect_users').select('id').where('email', '=', email);
          revealed = (await existing.executeTakeFirst()) !== undefined;
          if (revealed) refuseProblems({ email: emailTakenProblem });
          const id = await addAccount(trx, { email, name, password: hash });
          await enter(trx, note, invitation, { id, email });
        });
      } finally {
        if (!revealed) await joining.succeed(attempt);
      }
    },
  };
}

/** Who may enter, and in which role. Each transaction checks that `by` is an operator still: they may just have been removed. */
export function createMemberChanges(database: SiteDatabase, now: () => number = Date.now) {
  const audited = createAudited(database, now);
  return {
    /** `note` says for whom, in the operator's words. The token is shown this once. */
    async invite(
      group: Group,
      given: { note: string; role?: string | undefined },
      by: By,
    ): Promise<{ token: string; note: string; role: Role }> {
      const note = checkNote(given.note);
      const role = checkRole(group, given.role);
      const token = randomBytes(24).toString('base64url');
      const [asBefore, ofReader] = invitationHashes(token);
      const row = {
        id: newId(),
        token_hash: role === rolesOf(group)[0] ? asBefore : ofReader,
        tenant_id: group,
        note,
        role,
        created_by: typeof by === 'string' ? by : by.email,
        created_at: now(),
        expires_at: now() + invitationLifetimeMs,
        used_at: null,
      };
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        await trx.insertInto('connect_invitations').values(row).execute();
        await log({ actor: actorOf(by), action: 'member.invite', ...groupSubject(group, { note, role }) });
      });
      return { token, note, role };
    },

    /** False where there is no such invitation of this group any more. */
    async cancel(group: Group, invitation: string, by: By): Promise<boolean> {
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
    async remove(group: Group, userId: string, by: By): Promise<void> {
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const { email, role } = await findPerson(trx, group, userId);
        if (role === 'operator') await requireAnotherOperator(trx, userId);
        await endPlace(trx, group, userId);
        await endInvitationsBy(trx, email, group);
        await log({ actor: actorOf(by), action: 'member.remove', ...groupSubject(group, { email }) });
      });
    },

    /** An operator who becomes one no more loses their invitations; `forbidden` for the last operator. */
    async setRole(group: Group, userId: string, given: string, by: By): Promise<void> {
      const role = checkRole(group, given);
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const { email, role: before, since } = await findPerson(trx, group, userId);
        if (before === role) return;
        if (before === 'operator') {
          await requireAnotherOperator(trx, userId);
          await endInvitationsBy(trx, email, group);
        }
        await givePlace(trx, { tenant_id: group, user_id: userId, created_at: since }, role);
        const subject = groupSubject(group, { email, role, before });
        await log({ actor: actorOf(by), action: 'member.role', ...subject });
      });
    },

    /** For somebody who has lost their phone and their recovery codes; false where they have none. */
    endSecondFactor: (userId: string, by: By): Promise<boolean> =>
      audited(async (trx, log) => {
        await requireOperator(trx, by);
        // Or an open session that somebody finds would end it without password and code.
        if (typeof by !== 'string' && by.id === userId)
          throw new GatewayError('forbidden', {
            message: 'Turn your own off under Account, with a code of it.',
          });
        const email = await endSecondFactor(trx, userId);
        if (email === undefined) return false;
        await log({ actor: actorOf(by), action: 'account.second_factor', detail: { email, state: 'ended' } });
        return true;
      }),
  };
}

/** Gives somebody one role in a group, in place of another. */
async function givePlace(
  trx: Transaction<SiteTables>,
  row: { tenant_id: Group; user_id: string; created_at: number },
  role: Role,
): Promise<void> {
  const { tenant_id, ...place } = row;
  await endPlace(trx, tenant_id, row.user_id);
  if (role !== rolesOf(tenant_id)[0]) await trx.insertInto('connect_readers').values(row).execute();
  else if (tenant_id === null) await trx.insertInto('connect_operators').values(place).execute();
  else
    await trx
      .insertInto('connect_members')
      .values({ tenant_id, ...place })
      .execute();
}

async function endPlace(trx: Transaction<SiteTables>, group: Group, userId: string): Promise<void> {
  const readers = trx.deleteFrom('connect_readers').where('user_id', '=', userId);
  await readers.where('tenant_id', group === null ? 'is' : '=', group).execute();
  if (group === null) await trx.deleteFrom('connect_operators').where('user_id', '=', userId).execute();
  else {
    const members = trx.deleteFrom('connect_members').where('user_id', '=', userId);
    await members.where('tenant_id', '=', group).execute();
  }
}

function checkRole(group: Group, given: string | undefined): Role {
  const roles = rolesOf(group);
  const role = given === undefined ? roles[0] : roles.find((each) => each === given);
  if (role) return role;
  throw inputError([{ field: 'role', problem: `must be ${roles.join(' or ')}` }]);
}

function checkNote(given: string): string {
  const note = given.trim();
  if (note !== '' && isLine(note, maxNote)) return note;
  const problem = `must be 1 to ${maxNote} characters without control characters`;
  throw inputError([{ field: 'note', problem }]);
}

export async function requireOperator(trx: Transaction<SiteTables>, by: By): Promise<void> {
  if (typeof by === 'string' || (await siteRoleOf(trx, by.id)) === 'operator') return;
  throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may do this.' });
}

/** All that changes operators holds the audit log's lock, so of two who remove each other at once, one remains. */
async function requireAnotherOperator(trx: Transaction<SiteTables>, userId: string): Promise<void> {
  const operators = trx.selectFrom('connect_operators').select('user_id');
  if (await operators.where('user_id', '!=', userId).limit(1).executeTakeFirst()) return;
  throw new GatewayError('forbidden', { message: 'The last operator cannot be removed or demoted.' });
}

/** A person of a group in their role; in the higher one where an older gateway gave a reader another. */
function placeOf(trx: Transaction<SiteTables>, group: Group, userId: string) {
  return peopleIn(trx, group).where('user.id', '=', userId).orderBy('role.role').executeTakeFirst();
}

async function findPerson(trx: Transaction<SiteTables>, group: Group, userId: string) {
  const person = await placeOf(trx, group, userId);
  if (person) return person;
  throw new GatewayError('not_found', { message: 'This person is not here any more.' });
}

/** A person who was removed may have a link still: ends theirs to this tenant, or all of a removed operator. */
async function endInvitationsBy(trx: Transaction<SiteTables>, email: string, group: Group): Promise<void> {
  const open = trx.deleteFrom('connect_invitations').where('used_at', 'is', null);
  const theirs = open.where('created_by', '=', email);
  await (group === null ? theirs : theirs.where('tenant_id', '=', group)).execute();
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
