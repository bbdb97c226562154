import { tryUrl } from '../../../schemas/input/parse.js';
import { GatewayError } from '../../errors.js';
import type { ProviderOutcome } from '../accounts/sign-in.js';
import { networkOf } from '../accounts/throttle.js';
import { emptyForm, get, type PageAnswer, type PageCall, post, refused, type UserCall } from '../page.js';
import type { SignedIn } from '../state.js';
import { Page } from './document.js';
import { Field, Form, Notice } from './elements.js';

/** Signing in by password or through an identity provider. Accounts come from invitations alone. */
export const signInPages = [
  get.anyone('/', async ({ visitor }) => ({ redirect: visitor ? homeOf(visitor) : '/sign-in' })),
  get.anyone('/sign-in', async ({ site, visitor, query }) => {
    const next = localPath(query.get('next'));
    if (visitor) return { redirect: next ?? '/' };
    const name = site.oidc?.name;
    const failed = name !== undefined && query.get('failed') === '1';
    const problem = `Signing in with ${name} did not work. Sign in with your password, then connect ${name} under Account.`;
    return signInPage({ next, name, ...(failed && { problem }) });
  }),
  post.anyone('/sign-in', signIn),
  post.anyone('/sign-in/code', enterCode),
  post.anyone('/sign-out', async ({ site, cookie }) => {
    return { redirect: '/sign-in', ...(await site.signIn.signOut(cookie)) };
  }),
  get.anyone('/sign-in/oidc', visitProvider),
  post.user('/account/oidc', connectAccount),
  get.anyone('/auth/callback/oidc', returnFromProvider),
];

async function signIn(call: PageCall) {
  const { site, form, cookie, address } = call;
  const email = (form.get('email') ?? '').trim();
  const next = localPath(form.get('next'));
  const attempt = { address, account: email, device: site.devices.recognise(cookie, email) };
  const again = (problem: string) =>
    refused({ values: form, problems: {} }, signInPage({ next, name: site.oidc?.name, problem }), 401);
  const wait = await site.throttle.attempt(attempt);
  if (wait > 0) return rateLimited(again(tooMany(wait)), wait);
  const session = await site.signIn.signIn(email, form.get('password') ?? '', call);
  if (!session) {
    return again('This e-mail and password do not belong together. Check both and try again.');
  }
  if (session.held !== undefined) return codePage(session.held, next);
  await site.throttle.succeed(attempt);
  return { redirect: next ?? '/', cookies: [...session.cookies, site.devices.remember(email)] };
}

async function enterCode(call: PageCall) {
  const { site, form, cookie, address } = call;
  const [held, next] = [form.get('held') ?? '', localPath(form.get('next'))];
  const user = await site.signIn.sessions.held(held);
  if (!user) {
    const problem = 'This sign-in has ended, as it took longer than ten minutes. Start again.';
    return refused(emptyForm, signInPage({ next, name: site.oidc?.name, problem }), 401);
  }
  const attempt = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const again = (code: string) =>
    refused({ values: new Map(), problems: { code } }, codePage(held, next), 401);
  const wait = await site.codes.attempt(attempt);
  if (wait > 0) return rateLimited(again(tooMany(wait)), wait);
  const session = await site.signIn.enterCode(user, held, form.get('code') ?? '', call);
  if (!session) return again('is wrong, or was used before: each works once');
  for (const throttle of [site.codes, site.throttle]) await throttle.succeed(attempt);
  return { redirect: next ?? '/', cookies: [...session.cookies, site.devices.remember(user.email)] };
}

function codePage(held: string, next: string | undefined) {
  return (
    <Page title="Second factor" narrow>
      <Form action="/sign-in/code">
        <input type="hidden" name="held" value={held} />
        {next && <input type="hidden" name="next" value={next} />}
        <CodeField />
        <button type="submit">Sign in</button>
      </Form>
      <p class="quiet">
        You have lost your phone and your recovery codes? An operator of this gateway can end your second
        factor.
      </p>
    </Page>
  );
}

/** Asks for a code of the second factor. */
export function CodeField() {
  return (
    <Field
      name="code"
      label="Code"
      required
      autocomplete="one-time-code"
      hint="Six digits from your app, or one of your recovery codes."
    />
  );
}

/** `name` is the identity provider's, where there is one. */
type SignInView = { next: string | undefined; name: string | undefined; problem?: string };

function signInPage({ next, name, problem }: SignInView) {
  return (
    <Page title="Sign in" narrow>
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Form action="/sign-in">
        {next && <input type="hidden" name="next" value={next} />}
        <Field name="email" label="E-mail" type="email" required autocomplete="username" />
        <Field name="password" label="Password" type="password" required autocomplete="current-password" />
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
    </Page>
  );
}

/** The first page of a visitor. */
function homeOf(visitor: SignedIn): string {
  if (visitor.role) return '/overview';
  const [first] = visitor.tenants;
  return first ? `/tenants/${first.name}` : '/account';
}

/** A path of this site alone: `//host` and `/\host` would lead away from it. */
export function localPath(path: string | undefined): string | undefined {
  // As long as the playground's links to a new recipe.
  if (!path?.startsWith('/') || path.length > 8_000) return undefined;
  const base = 'http://site.invalid';
  const url = tryUrl(path, base);
  return url?.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : undefined;
}

/** Where each outcome leads. */
const outcomePaths: Record<ProviderOutcome, string> = {
  signed_in: '/',
  not_signed_in: '/sign-in?failed=1',
  connected: '/account?connected=1',
  not_connected: '/account?connected=0',
};

async function visitProvider(call: PageCall) {
  providerName(call);
  await limitProviderVisits(call);
  const visit = await call.site.signIn.toProvider();
  if (!visit) return { redirect: outcomePaths.not_signed_in };
  return { redirect: visit.url, cookies: visit.cookies };
}

async function limitProviderVisits({ site, address }: PageCall): Promise<void> {
  const wait = await site.providerVisits.consume(networkOf(address));
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
}

async function returnFromProvider(call: PageCall) {
  const { site, search, address, visitor } = call;
  providerName(call);
  // For each answer that is not refused at once the gateway sends the provider a request.
  const wait = await site.throttle.attempt({ address });
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
  const { returned, cookies } = await site.signIn.fromProvider(search, visitor?.user, call);
  if (returned === 'signed_in' || returned === 'connected') {
    await site.throttle.succeed({ address });
    await site.providerVisits.refund(networkOf(address));
  }
  return { redirect: outcomePaths[returned], cookies };
}

/** Leads on by a link: the pages' policy lets no form end on another site. */
async function connectAccount(call: UserCall) {
  const { site, cookie } = call;
  const name = providerName(call);
  await limitProviderVisits(call);
  const visit = await site.signIn.toProvider(cookie);
  if (!visit) return { redirect: outcomePaths.not_connected };
  return {
    cookies: visit.cookies,
    page: (
      <Page title={`Connect ${name}`} narrow>
        <p>Sign in there with the account that you want to sign in here with from now on.</p>
        <p>
          <a class="button" href={visit.url}>
            Go on to {name}
          </a>
        </p>
      </Page>
    ),
  };
}

function providerName({ site }: PageCall): string {
  if (!site.oidc) throw new GatewayError('not_found');
  return site.oidc.name;
}

/** A page that says how long to wait, as an answer that programs understand too. */
export function rateLimited(page: PageAnswer, seconds: number) {
  return { ...page, status: 429, headers: { 'retry-after': String(seconds) } };
}

/** The message after too many tries, with the seconds to wait. */
export function tooMany(seconds: number): string {
  const [count, unit] =
    seconds <= 3600 ? [Math.ceil(seconds / 60), 'minute'] : [Math.ceil(seconds / 3600), 'hour'];
  return `Too many tries. Wait ${count} ${unit}${count > 1 ? 's' : ''}, then try again.`;
}
