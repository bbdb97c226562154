import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder, Kysely, Transaction } from 'kysely';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError, inputError } from '../../errors.js';
import { hashSecret } from '../../keys/model.js';
import type { InvitationRow, SiteDatabase, SiteTables } from '../tables.js';
import {
  actorOf,
  addAccount,
  createAudited,
  type Group,
  groupSubject,
  hashPassword,
  type NoteAudit,
  newId,
  type User,
} from './account.js';
import { accountProblems, type NewAccount, type PasswordChecker } from './passwords.js';
import type { Throttle } from './throttle.js';

/** Of a group; `since` is when they joined, ms since 1970. */
export type Person = User & { since: number };

/** What a signed-in user may see: everything, or the tenants that they are a member of, by name. */
export type Rights = { operator: boolean; tenants: { id: string; name: string }[] };

export type People = ReturnType<typeof createPeople>;

/** Reads who is an operator, and who a member of which tenant. */
export function createPeople({ run }: SiteDatabase) {
  return {
    async rights(userId: string): Promise<Rights> {
      const [operator, tenants] = await Promise.all([
        run((db) => isOperator(db, userId)),
        run((db) =>
          db
            .selectFrom('connect_members as role')
            .innerJoin('tenants', 'tenants.id', 'role.tenant_id')
            .select(['tenants.id', 'tenants.name'])
            .where('role.user_id', '=', userId)
            .orderBy('tenants.name')
            .execute(),
        ),
      ]);
      return { operator, tenants };
    },
    /** The people of a group, first those who have been there for longest. */
    of(group: Group): Promise<Person[]> {
      return run((db) => {
        const operators = db.selectFrom('connect_operators').select(['user_id', 'created_at']);
        const members = db.selectFrom('connect_members').select(['user_id', 'created_at']);
        const roles = group === null ? operators : members.where('tenant_id', '=', group);
        return db
          .selectFrom(roles.as('role'))
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .orderBy('role.created_at')
          .execute();
      });
    },
    /** Names of tenants by id. */
    async tenantNames(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map();
      const rows = await run((db) =>
        db.selectFrom('tenants').select(['id', 'name']).where('id', 'in', ids).execute(),
      );
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}

const invitationLifetimeMs = 7 * 86_400_000;
const maxInvitationsShown = 200;

export type Invitation = Omit<InvitationRow, 'token_hash'>;

/** An invitation that can be accepted, with the tenant's name. */
export type Offer = Invitation & { tenant: string | null };

/** Reads links that make their holder a member of a tenant or an operator; once, for seven days. */
export function createInvitations({ run }: SiteDatabase, now: () => number = Date.now) {
  return {
    /** Those that can still be used, newest first. */
    async open(group: Group): Promise<Invitation[]> {
      const rows = await run((db) =>
        db
          .selectFrom('connect_invitations')
          .selectAll()
          .where('tenant_id', group === null ? 'is' : '=', group)
          .where(usableAt(now()))
          .orderBy('created_at', 'desc')
          .limit(maxInvitationsShown)
          .execute(),
      );
      return rows.map(withoutHash);
    },
    async find(token: string): Promise<Offer | undefined> {
      const row = await run((db) =>
        db
          .selectFrom('connect_invitations')
          .leftJoin('tenants', 'tenants.id', 'connect_invitations.tenant_id')
          .selectAll('connect_invitations')
          .select('tenants.name as tenant')
          .where('token_hash', '=', hashSecret(token))
          .where((eb) => usableAt(now())(eb))
          .executeTakeFirst(),
      );
      return row && withoutHash(row);
    },
  };
}

/** Those that were not used, have not expired, and whose inviter may still invite. */
function usableAt(now: number) {
  return function usable(eb: ExpressionBuilder<SiteTables, 'connect_invitations'>) {
    const inviters = eb
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select('connect_users.email');
    return eb.and([
      eb('connect_invitations.used_at', 'is', null),
      eb('connect_invitations.expires_at', '>', now),
      eb('connect_invitations.created_by', 'in', inviters),
    ]);
  };
}

function withoutHash<R extends InvitationRow>({ token_hash, ...invitation }: R): Omit<R, 'token_hash'> {
  return invitation;
}

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

/** Changes people. Each transaction checks that `by` is still an operator: they may just have been removed. */
export function createMemberAdmin({ database, passwords, throttle, joining, now }: MemberAdminOptions) {
  const audited = createAudited(database, now);
  const invitations = createInvitations(database, now);

  /** Marks it used, in the statement that checks that it is not: of two that claim it at once, one succeeds. */
  async function claim(trx: Transaction<SiteTables>, token: string): Promise<Invitation> {
    const row = await trx
      .updateTable('connect_invitations')
      .set({ used_at: now() })
      .where('token_hash', '=', hashSecret(token))
      .where(usableAt(now()))
      .returningAll()
      .executeTakeFirst();
    if (!row) throw invitationGone();
    return row;
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
    /** `note` says for whom, in the operator's words. The token is shown this once. */
    async invite(group: Group, given: string, by: User): Promise<{ token: string; note: string }> {
      const note = checkNote(given);
      const token = randomBytes(24).toString('base64url');
      const row = {
        id: newId(),
        token_hash: hashSecret(token),
        tenant_id: group,
        note,
        created_by: by.email,
      };
      const created_at = now();
      const times = { created_at, expires_at: created_at + invitationLifetimeMs, used_at: null };
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        await trx
          .insertInto('connect_invitations')
          .values({ ...row, ...times })
          .execute();
        await log({ actor: actorOf(by), action: 'member.invite', ...groupSubject(group, { note }) });
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

function checkNote(given: string): string {
  const note = given.trim();
  if (note !== '' && isLine(note, maxNote)) return note;
  const problem = `must be 1 to ${maxNote} characters without control characters`;
  throw inputError([{ field: 'note', problem }]);
}

async function requireOperator(trx: Transaction<SiteTables>, { id }: User): Promise<void> {
  if (await isOperator(trx, id)) return;
  throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may do this.' });
}

async function isOperator(db: Kysely<SiteTables>, userId: string): Promise<boolean> {
  const query = db.selectFrom('connect_operators').select('user_id').where('user_id', '=', userId);
  return (await query.executeTakeFirst()) !== undefined;
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
  if (all.length === 1)
    throw new GatewayError('forbidden', { message: 'The last operator cannot be removed.' });
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

function personMissing(): GatewayError {
  return new GatewayError('not_found', { message: 'This person is not here any more.' });
}
