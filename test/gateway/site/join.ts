import { type BrowserLike, signedIn } from './browser-like.js';
import { createTestMembers, operatorNamed } from './members.js';
import type { TestSite } from './test-site.js';

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

/** Makes somebody a member of a tenant, whose password nothing judges; returns their client, signed in. */
export async function join(site: TestSite, tenant: string, email: string): Promise<BrowserLike> {
  const members = createTestMembers(site.connect);
  const { id } = await site.admin.tenant(tenant);
  const { token } = await members.invite(
    id,
    'for a test',
    await operatorNamed(site.connect, site.operator.email),
  );
  await members.joinAs(token, { email, name: '', password: goodPassword }, '127.0.0.1');
  return signedIn(site.url, { email, password: goodPassword });
}
