import { type BrowserLike, createBrowserLike, signedIn } from './browser-like.js';
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

/** Takes up an invitation to a tenant; returns the new member's client. */
export async function join(site: TestSite, tenant: string, email: string): Promise<BrowserLike> {
  const path = await invite(site, tenant);
  const browser = createBrowserLike(site.url);
  await browser.get(path);
  const page = await browser.submit(path, { email, name: '', password: goodPassword, again: goodPassword });
  if (page.status !== 303) throw new Error(`joining answered ${page.status}`);
  return browser;
}
