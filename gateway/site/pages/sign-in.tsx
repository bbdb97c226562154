import { tryUrl } from '../../../schemas/try-url.js';
import { GatewayError } from '../../errors.js';
import type { ProviderOutcome } from '../accounts/sign-in.js';
import { networkOf } from '../accounts/throttle.js';
import {
  emptyForm,
  type FormState,
  forAnyone,
  forUser,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postRoute,
  type Redirect,
  type WithUser,
  type WithVisitor,
} from '../page.js';
import type { SignedIn } from '../state.js';
import { Field, Form, Notice } from './elements.js';

export const signInPages: PageRoute[] = [
  getRoute(forAnyone, '/', async ({ visitor }) => ({ redirect: visitor ? homeOf(visitor) : '/sign-in' })),
  getRoute(forAnyone, '/sign-in', async ({ site, visitor, query }) => {
    const next = localPath(query.get('next'));
    if (visitor) return { redirect: next ?? '/' };
    const name = site.oidc?.name;
    const failed = name !== undefined && query.get('failed') === '1';
    const problem = `Signing in with ${name} did not work. Sign in with your password, then connect ${name} under Account.`;
    return signInPage(emptyForm, { next, name, ...(failed && { problem }) });
  }),
  postRoute(forAnyone, '/sign-in', signIn),
  postRoute(forAnyone, '/sign-out', async ({ site, cookie }) => {
    return { redirect: '/sign-in', ...(await site.signIn.signOut(cookie)) };
  }),
];

async function signIn({ site, form, cookie, address, visitor }: PageRequest & WithVisitor) {
  const email = (form.get('email') ?? '').trim();
  const next = localPath(form.get('next'));
  const tryer = { address, account: email, device: site.devices.recognise(cookie, email) };
  const wait = await site.throttle.attempt(tryer);
  if (wait > 0) {
    const view = { next, name: site.oidc?.name, problem: tooMany(wait) };
    const page = signInPage({ values: form, problems: {} }, view);
    return { ...page, status: 429, headers: { 'retry-after': String(wait) } };
  }
  const session = await site.signIn.signIn(email, form.get('password') ?? '', address);
  if (!session) {
    const problem = 'This e-mail and password do not belong together. Check both and try again.';
    const page = signInPage({ values: form, problems: {} }, { next, name: site.oidc?.name, problem });
    return { ...page, status: 401 };
  }
  await site.throttle.succeed(tryer);
  // The session that this browser had is of no more use; left alone it would outlive the sign-out.
  if (visitor) await site.signIn.signOut(cookie);
  return { redirect: next ?? '/', cookies: [...session.cookies, site.devices.remember(email)] };
}

interface SignInView {
  next: string | undefined;
  /** The identity provider's name, where there is one. */
  name: string | undefined;
  problem?: string;
}

function signInPage(state: FormState, { next, name, problem }: SignInView): PageAnswer {
  return {
    title: 'Sign in',
    body: (
      <section class="narrow">
        <h1>Sign in</h1>
        {problem && <Notice kind="bad">{problem}</Notice>}
        <Form action="/sign-in">
          {next && <input type="hidden" name="next" value={next} />}
          <Field name="email" label="E-mail" type="email" state={state} required autocomplete="username" />
          <Field
            name="password"
            label="Password"
            type="password"
            state={state}
            required
            autocomplete="current-password"
          />
          <button type="submit">Sign in</button>
        </Form>
        {name && (
          <p>
            <a class="button quiet-button" href="/sign-in/oidc">
              Sign in with {name}
            </a>
          </p>
        )}
        <p class="quiet">
          Accounts are made by invitation. The first operator’s password was printed when the gateway first
          started.
        </p>
      </section>
    ),
  };
}

/** Where a visitor begins. */
function homeOf(visitor: SignedIn): string {
  if (visitor.operator) return '/overview';
  const [first] = visitor.tenants;
  return first ? `/tenants/${first.name}` : '/account';
}

/** A path of this site and of no other: `//host` and `/\host` would lead away from it. */
export function localPath(path: string | undefined): string | undefined {
  if (!path?.startsWith('/') || path.length > 500) return undefined;
  const base = 'http://site.invalid';
  const url = tryUrl(path, base);
  return url?.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : undefined;
}

/** Where each end of the way leads. What went wrong is better-auth's to know; its codes are no help to people. */
const outcomePaths: Record<ProviderOutcome, string> = {
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
  getRoute(forAnyone, '/sign-in/oidc', async (call) => {
    providerName(call);
    await limitProviderVisits(call);
    const way = await call.site.signIn.toProvider();
    if (!way) return { redirect: outcomePaths.not_signed_in };
    return { redirect: way.url, cookies: way.cookies };
  }),
  postRoute(forUser, '/account/oidc', connectAccount),
  getRoute(forAnyone, '/auth/callback/oidc', returnFromProvider),
];

async function limitProviderVisits({ site, address }: PageRequest): Promise<void> {
  const wait = await site.departures.take(networkOf(address));
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
}

async function returnFromProvider(call: PageRequest): Promise<Redirect> {
  const { site, search, cookie, address } = call;
  providerName(call);
  // Each answer that is not refused at once has the gateway ask the provider.
  const wait = await site.throttle.attempt({ address });
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
  const { returned, cookies } = await site.signIn.fromProvider(search, cookie, address);
  if (returned === 'signed_in' || returned === 'connected') {
    await site.throttle.succeed({ address });
    await site.departures.giveBack(networkOf(address));
  }
  return { redirect: outcomePaths[returned], cookies };
}

/** Leads on by a link: the pages' policy lets no form end on another site. */
async function connectAccount(call: PageRequest & WithUser): Promise<PageAnswer | Redirect> {
  const { site, cookie } = call;
  const name = providerName(call);
  await limitProviderVisits(call);
  const way = await site.signIn.toProvider(cookie);
  if (!way) return { redirect: outcomePaths.not_connected };
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

function providerName({ site }: PageRequest): string {
  if (!site.oidc) throw new GatewayError('not_found');
  return site.oidc.name;
}

/** What somebody is told who has tried too often, with the seconds to wait. */
export function tooMany(seconds: number): string {
  const [count, unit] =
    seconds <= 3600 ? [Math.ceil(seconds / 60), 'minute'] : [Math.ceil(seconds / 3600), 'hour'];
  return `Too many tries. Wait ${count} ${unit}${count > 1 ? 's' : ''}, then try again.`;
}
