import { GatewayError } from '../../errors.js';
import type { PageCall, PageRoute } from '../page.js';
import { localPath } from './sign-in.js';

/**
 * Signing in through an identity provider (OpenID Connect), for accounts that were connected with it. It makes no accounts:
 * those come from invitations.
 */
export const providerPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/sign-in/oidc',
    access: 'anyone',
    async run({ site }) {
      nameOf(site);
      const way = await site.signIn.toProvider();
      if (!way) return { redirect: '/sign-in?failed=1' };
      return { redirect: way.url, cookies: way.cookies };
    },
  },
  { method: 'POST', path: '/account/oidc', access: 'user', run: connect },
  {
    method: 'GET',
    path: '/auth/callback/oidc',
    access: 'anyone',
    async run({ site, search, cookie }) {
      nameOf(site);
      const { location, cookies } = await site.signIn.fromProvider(search, cookie);
      const local = location.startsWith(site.baseUrl) ? location.slice(site.baseUrl.length) : location;
      return { redirect: withoutReason(localPath(local)), cookies };
    },
  },
];

/** Leads on by a link: the pages' policy lets no form end on another site. */
async function connect({ site, cookie }: PageCall) {
  const name = nameOf(site);
  const way = await site.signIn.toProvider(cookie);
  if (!way) return { redirect: '/account?connected=0' };
  return {
    title: `Connect ${name}`,
    cookies: way.cookies,
    body: (
      <section class="narrow">
        <h1>Connect {name}</h1>
        <p>Sign in there with the account that you want to sign in here with from now on.</p>
        <p>
          <a class="button" href={way.url}>
            Go on to {name}
          </a>
        </p>
      </section>
    ),
  };
}

function nameOf({ oidc }: PageCall['site']): string {
  if (!oidc) throw new GatewayError('not_found');
  return oidc.name;
}

/** What went wrong is better-auth's to know; its codes are no help to people. */
function withoutReason(path: string | undefined): string {
  const url = new URL(path ?? '/', 'http://site.invalid');
  if (url.pathname.startsWith('/auth')) return '/sign-in?failed=1';
  for (const name of ['error', 'error_description', 'state']) url.searchParams.delete(name);
  return url.pathname + url.search;
}
