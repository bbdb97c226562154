import { emptyForm, type FormState, type PageAnswer, type PageCall, type PageRoute } from '../page.js';
import { Field, Form } from './form.js';
import { Notice } from './parts.js';

export const signInPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/',
    access: 'anyone',
    async run({ visitor }) {
      return { redirect: visitor ? homeOf(visitor) : '/sign-in' };
    },
  },
  {
    method: 'GET',
    path: '/sign-in',
    access: 'anyone',
    async run({ visitor, query }) {
      const next = localPath(query.get('next'));
      return visitor ? { redirect: next ?? '/' } : signInPage(emptyForm, next);
    },
  },
  { method: 'POST', path: '/sign-in', access: 'anyone', run: signIn },
  {
    method: 'POST',
    path: '/sign-out',
    access: 'anyone',
    async run({ site, cookie }) {
      return { redirect: '/sign-in', ...(await site.signIn.signOut(cookie)) };
    },
  },
];

async function signIn({ site, form, cookie, address, visitor }: PageCall) {
  const email = (form.get('email') ?? '').trim();
  const next = localPath(form.get('next'));
  const wait = await site.throttle.attempt(address, email);
  if (wait > 0) {
    const minutes = Math.ceil(wait / 60);
    const problem = `Too many tries. Wait ${minutes} minute${minutes > 1 ? 's' : ''}, then try again.`;
    const page = signInPage({ values: form, problems: {} }, next, problem);
    return { ...page, status: 429, headers: { 'retry-after': String(wait) } };
  }
  const session = await site.signIn.signIn(email, form.get('password') ?? '');
  if (!session) {
    const problem = 'This e-mail and password do not belong together. Check both and try again.';
    return { ...signInPage({ values: form, problems: {} }, next, problem), status: 401 };
  }
  await site.throttle.succeed(address, email);
  // The session that this browser had is of no more use; left alone it would outlive the sign-out.
  if (visitor) await site.signIn.signOut(cookie);
  return { redirect: next ?? '/', cookies: session.cookies };
}

function signInPage(state: FormState, next: string | undefined, problem?: string): PageAnswer {
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
        <p class="quiet">
          Accounts are made by invitation. The first operator’s password was printed when the gateway first
          started.
        </p>
      </section>
    ),
  };
}

/** Where a visitor begins. */
function homeOf(visitor: NonNullable<PageCall['visitor']>): string {
  if (visitor.operator) return '/overview';
  const [first] = visitor.tenants;
  return first ? `/tenants/${first.name}` : '/account';
}

/** A path of this site and of no other: `//host` and `/\host` would lead away from it. */
export function localPath(path: string | undefined): string | undefined {
  if (!path?.startsWith('/') || path.length > 500) return undefined;
  const base = 'http://site.invalid';
  if (!URL.canParse(path, base)) return undefined;
  const url = new URL(path, base);
  return url.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : undefined;
}
