import type { User } from '../../../gateway/site/accounts/account.js';
import { createMemberAdmin, type MemberAdmin } from '../../../gateway/site/accounts/member-admin.js';
import { createPeople } from '../../../gateway/site/accounts/people.js';
import { createThrottle } from '../../../gateway/site/accounts/throttle.js';
import type { SiteDatabase } from '../../../gateway/site/tables.js';
import { type BrowserLike, signedIn } from './browser-like.js';
import type { TestSite } from './test-site.js';

const plenty = { pair: 1_000, account: 1_000, address: 1_000, seconds: 60 };

/** The member administration of a gateway on this database, that slows nobody down. */
export function createTestMembers(database: SiteDatabase, now: () => number = Date.now): MemberAdmin {
  return createMemberAdmin({
    database,
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
  const found = (await createPeople(database).of(null)).find((person) => person.email === email);
  if (!found) throw new Error(`there is no operator ${email}`);
  return found;
}

export const goodPassword = 'correct horse battery';

/** Has the operator invite somebody to a tenant; returns the path of the link. */
export async function invite(site: TestSite, tenant: string): Promise<string> {
  const operator = await signedIn(site.url, site.operator);
  await operator.get(`/tenants/${tenant}/members`);
  const shown = await operator.submit(`/tenants/${tenant}/members/invitations`, { note: 'for a test' });
  const path = /\/join\/[\w-]+/.exec(shown.html)?.[0];
  if (!path) throw new Error(`no invitation was made: ${shown.status}`);
  return path;
}

/** Gives somebody a role in a tenant or, without one, on the site; their password is not checked. Returns their client, signed in. */
export async function join(
  site: TestSite,
  tenant: string | null,
  email: string,
  role?: string,
): Promise<BrowserLike> {
  const members = createTestMembers(site.connect);
  const group = tenant === null ? null : (await site.admin.tenant(tenant)).id;
  const by = await operatorNamed(site.connect, site.operator.email);
  const { token } = await members.invite(group, { note: 'for a test', role }, by);
  await members.joinAs(token, { email, name: '', password: goodPassword }, '127.0.0.1');
  return signedIn(site.url, { email, password: goodPassword });
}
