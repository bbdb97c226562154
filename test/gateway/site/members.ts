import { createAudited } from '../../../gateway/site/accounts/audited.js';
import { createInvitations } from '../../../gateway/site/accounts/invitations.js';
import { createMemberAdmin, type MemberAdmin } from '../../../gateway/site/accounts/member-admin.js';
import { createPeople } from '../../../gateway/site/accounts/people.js';
import type { User } from '../../../gateway/site/accounts/session.js';
import { createThrottle } from '../../../gateway/site/accounts/throttle.js';
import type { SiteDatabase } from '../../../gateway/site/database.js';

const plenty = { pair: 1_000, account: 1_000, address: 1_000, seconds: 60 };

/** The member administration of a gateway on this database, that slows nobody down. */
export function createTestMembers(database: SiteDatabase, now: () => number = Date.now): MemberAdmin {
  return createMemberAdmin({
    database,
    audited: createAudited(database, now),
    invitations: createInvitations(database, now),
    passwords: { isGuessable: async () => false },
    throttle: createThrottle(plenty),
    joining: createThrottle(plenty),
    now,
  });
}

/** What came of taking up an invitation. */
export async function outcome(joining: Promise<void>): Promise<'joined' | 'invalid' | 'email_taken'> {
  try {
    await joining;
    return 'joined';
  } catch (error) {
    const { code, details } = error as { code?: string; details?: { field: string }[] };
    if (code === 'not_found') return 'invalid';
    if (code === 'invalid_input' && details?.[0]?.field === 'email') return 'email_taken';
    throw error;
  }
}

/** The operator with this e-mail. */
export async function operatorNamed(database: SiteDatabase, email: string): Promise<User> {
  const found = (await createPeople(database).operators()).find((person) => person.email === email);
  if (!found) throw new Error(`there is no operator ${email}`);
  return found;
}
