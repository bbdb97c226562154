import { tryUrl } from '../../../schemas/try-url.js';
import { anyone, type ByAnyone } from '../doors.js';
import { emptyForm, type FormState, type PageAnswer, type PageRequest } from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import type { SignedIn } from '../state.js';
import { Notice } from './elements.js';
import { Field, Form } from './form.js';
import { tooMany } from './too-many.js';

export const signInPages: PageRoute[] = [
  get(anyone, '/', async ({ visitor }) => ({ redirect: visitor ? homeOf(visitor) : '/sign-in' })),
  get(anyone, '/sign-in', async ({ site, visitor, query }) => {
    const next = localPath(query.get('next'));
    if (visitor) return { redirect: next ?? '/' };
    const name = site.oidc?.name;
    const failed = name !== undefined && query.get('failed') === '1';
    const problem = `Signing in with ${name} did not work. Sign in with your password, then connect ${name} under Account.`;
    return signInPage(emptyForm, { next, name, ...(failed && { problem }) });
  }),
  post(anyone, '/sign-in', signIn),
  post(anyone, '/sign-out', async ({ site, cookie }) => {
    return { redirect: '/sign-in', ...(await site.signIn.signOut(cookie)) };
  }),
];

async function signIn({ site, form, cookie, address, visitor }: PageRequest & ByAnyone) {
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
