import { GatewayError } from '../../errors.js';
import { networkOf } from '../auth/tries.js';
import type { PageCall, PageRoute } from '../page.js';
import { localPath } from './sign-in.js';

const SIGN_IN_FAILED = '/sign-in?failed=1';
const CONNECT_FAILED = '/account?connected=0';
const FAILED = [SIGN_IN_FAILED, CONNECT_FAILED];

/**
 * Signing in through an identity provider (OpenID Connect), for accounts that were connected with it. It makes no accounts:
 * those come from invitations.
 */
export const providerPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/sign-in/oidc',
    access: 'anyone',
    async run(call) {
      const { site } = call;
      nameOf(site);
      await depart(call);
      const way = await site.signIn.toProvider();
      if (!way) return { redirect: SIGN_IN_FAILED };
      return { redirect: way.url, cookies: way.cookies };
    },
  },
  { method: 'POST', path: '/account/oidc', access: 'user', run: connect },
  {
    method: 'GET',
    path: '/auth/callback/oidc',
    access: 'anyone',
    async run({ site, search, cookie, address }) {
      nameOf(site);
      // Each answer that is not refused at once has the gateway ask the provider.
      const wait = await site.throttle.attempt({ address });
      if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
      const { location, cookies } = await site.signIn.fromProvider(search, cookie);
      const local = location.startsWith(site.baseUrl) ? location.slice(site.baseUrl.length) : location;
      const redirect = withoutReason(localPath(local));
      if (!FAILED.includes(redirect)) {
        await site.throttle.succeed({ address });
        await site.departures.giveBack(networkOf(address));
      }
      return { redirect, cookies };
    },
  },
];

async function depart({ site, address }: PageCall): Promise<void> {
  const wait = await site.departures.take(networkOf(address));
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
}

/** Leads on by a link: the pages' policy lets no form end on another site. */
async function connect(call: PageCall) {
  const { site, cookie } = call;
  const name = nameOf(site);
  await depart(call);
  const way = await site.signIn.toProvider(cookie);
  if (!way) return { redirect: CONNECT_FAILED };
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
  if (url.pathname.startsWith('/auth')) return SIGN_IN_FAILED;
  for (const name of ['error', 'error_description', 'state']) url.searchParams.delete(name);
  return url.pathname + url.search;
}
