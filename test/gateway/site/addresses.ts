import { pageRoutes } from '../../../gateway/site/app.js';
import type { BrowserLike } from './browser-like.js';

/** A tenant by what its pages show: its name, and the id of one of its keys. */
interface ShownTenant {
  name: string;
  key: string | undefined;
}

/** The parts of paths by name, as pages lead to them; without those of what exists only for a moment. */
async function partsOf(browser: BrowserLike, { name, key }: ShownTenant) {
  const found = async (list: string, pattern: RegExp) => pattern.exec((await browser.get(list)).html)?.[1];
  const base = `/tenants/${name}`;
  return {
    ...{ tenant: name, key },
    job: await found(`${base}/jobs`, /\/jobs\/(job_\w+)/),
    recipe: await found(`${base}/recipes`, /\/recipes\/(?!new)([\w-]+)"/),
    member: await found(`${base}/members`, /\/members\/([\w-]{10,})\//),
    colleague: await found('/people', /\/people\/([\w-]{10,})\//),
    token: await found('/tokens', /\/tokens\/([\w-]{10,})\//),
    plan: await found('/plans', /\/plans\/(?!new)([\w-]+)/),
  };
}

/** The addresses of all pages that a gateway has of itself and of these tenants, by their routes; `queries` adds to some. */
export async function addressesOf(
  browser: BrowserLike,
  tenants: readonly ShownTenant[],
  queries: Readonly<Record<string, readonly string[]>> = {},
): Promise<string[]> {
  const parts = await Promise.all(tenants.map((tenant) => partsOf(browser, tenant)));
  const addresses = new Set<string>();
  for (const { method, path } of pageRoutes) {
    if (method !== 'GET') continue;
    for (const values of parts) {
      const user = path.startsWith('/people') ? values.colleague : values.member;
      const named: Record<string, string | undefined> = { ...values, user };
      const address = path.replace(/:(\w+)/g, (_, name: string) => named[name] ?? ':');
      if (address.includes(':')) continue;
      for (const query of ['', ...(queries[path] ?? [])]) addresses.add(address + query);
    }
  }
  return [...addresses];
}
