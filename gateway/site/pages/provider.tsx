import { GatewayError } from '../../errors.js';
import type { Returned } from '../accounts/provider-sign-in.js';
import { networkOf } from '../accounts/tries.js';
import { anyone, type ByUser, user } from '../doors.js';
import type { PageAnswer, PageRequest, Redirect } from '../page.js';
import { get, type PageRoute, post } from '../route.js';

/** Where each end of the way leads. What went wrong is better-auth's to know; its codes are no help to people. */
const leads: Record<Returned, string> = {
  signed_in: '/',
  not_signed_in: '/sign-in?failed=1',
  connected: '/account?connected=1',
  not_connected: '/account?connected=0',
};

/**
 * Signing in through an identity provider (OpenID Connect), for accounts that were connected with it. It makes no accounts:
 * those come from invitations.
 */
export const providerPages: PageRoute[] = [
  get(anyone, '/sign-in/oidc', async (call) => {
    nameOf(call);
    await depart(call);
    const way = await call.site.signIn.toProvider();
    if (!way) return { redirect: leads.not_signed_in };
    return { redirect: way.url, cookies: way.cookies };
  }),
  post(user, '/account/oidc', connect),
  get(anyone, '/auth/callback/oidc', comeBack),
];

async function depart({ site, address }: PageRequest): Promise<void> {
  const wait = await site.departures.take(networkOf(address));
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
}

async function comeBack(call: PageRequest): Promise<Redirect> {
  const { site, search, cookie, address } = call;
  nameOf(call);
  // Each answer that is not refused at once has the gateway ask the provider.
  const wait = await site.throttle.attempt({ address });
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
  const { returned, cookies } = await site.signIn.fromProvider(search, cookie, address);
  if (returned === 'signed_in' || returned === 'connected') {
    await site.throttle.succeed({ address });
    await site.departures.giveBack(networkOf(address));
  }
  return { redirect: leads[returned], cookies };
}

/** Leads on by a link: the pages' policy lets no form end on another site. */
async function connect(call: PageRequest & ByUser): Promise<PageAnswer | Redirect> {
  const { site, cookie } = call;
  const name = nameOf(call);
  await depart(call);
  const way = await site.signIn.toProvider(cookie);
  if (!way) return { redirect: leads.not_connected };
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

function nameOf({ site }: PageRequest): string {
  if (!site.oidc) throw new GatewayError('not_found');
  return site.oidc.name;
}
