import type { Transaction } from 'kysely';
import { isLine } from '../../../schemas/vocabulary/line.js';
import { GatewayError, inputError } from '../../errors.js';
import type { SiteTables } from '../tables.js';
import { about, type Group } from './group.js';
import { addInvitation, cancelInvitation, endInvitationsBy } from './invitations.js';
import { createJoining, type Joining, type JoiningOptions } from './joining.js';
import { actorOf, type User } from './session.js';

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
export const longestNote = 100;

export function createMemberAdmin(options: JoiningOptions): MemberAdmin {
  const { audited, now } = options;
  return {
    ...createJoining(options),
    async invite(group, given, by) {
      const note = checkNote(given);
      const token = await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const token = await addInvitation(trx, { tenant_id: group, note, created_by: by.email }, now());
        await log({ actor: actorOf(by), action: 'member.invite', ...about(group, { note }) });
        return token;
      });
      return { token, note };
    },
    async cancel(group, invitation, by) {
      return audited(async (trx, log) => {
        await requireOperator(trx, by);
        const cancelled = await cancelInvitation(trx, group, invitation);
        if (cancelled) {
          await log({ actor: actorOf(by), action: 'member.cancel_invite', ...about(group, { invitation }) });
        }
        return cancelled;
      });
    },
    async remove(group, userId, by) {
      await audited(async (trx, log) => {
        await requireOperator(trx, by);
        const email = group === null ? await leaveOperators(trx, userId) : await leave(trx, group, userId);
        await endInvitationsBy(trx, email, group);
        await log({ actor: actorOf(by), action: 'member.remove', ...about(group, { email }) });
      });
    },
  };
}

function checkNote(given: string): string {
  const note = given.trim();
  if (note !== '' && isLine(note, longestNote)) return note;
  const problem = `must be 1 to ${longestNote} characters without control characters`;
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

async function leaveOperators(trx: Transaction<SiteTables>, userId: string): Promise<string> {
  // All that changes operators holds the audit log's lock, so of two who remove each other at once, one remains.
  const all = await trx
    .selectFrom('connect_operators as role')
    .innerJoin('connect_users as user', 'user.id', 'role.user_id')
    .select(['user.id', 'user.email'])
    .execute();
  const person = all.find(({ id }) => id === userId);
  if (!person) throw notHere();
  if (all.length === 1) {
    throw new GatewayError('forbidden', { message: 'The last operator cannot be removed.' });
  }
  await trx.deleteFrom('connect_operators').where('user_id', '=', userId).execute();
  return person.email;
}

async function leave(trx: Transaction<SiteTables>, tenantId: string, userId: string): Promise<string> {
  const person = await trx
    .selectFrom('connect_members as role')
    .innerJoin('connect_users as user', 'user.id', 'role.user_id')
    .select('user.email')
    .where('role.tenant_id', '=', tenantId)
    .where('role.user_id', '=', userId)
    .executeTakeFirst();
  if (!person) throw notHere();
  await trx
    .deleteFrom('connect_members')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .execute();
  return person.email;
}

function notHere(): GatewayError {
  return new GatewayError('not_found', { message: 'This person is not here any more.' });
}
