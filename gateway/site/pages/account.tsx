import { GatewayError } from '../../errors.js';
import { maxName, maxPassword, minPassword, passwordProblem } from '../accounts/passwords.js';
import type { Offer } from '../accounts/people.js';
import {
  emptyForm,
  type FormState,
  formState,
  get,
  type PageAnswer,
  type PageCall,
  post,
  type Redirect,
  type UserCall,
} from '../page.js';
import { Empty, Facts, Field, Form, Notice } from './elements.js';
import { rateLimited, tooMany } from './sign-in.js';

const joinPath = '/join/:token';

/** The visitor's own account, and the page of an invitation, which makes one. */
export const accountPages = [
  get.user('/account', async (call) => accountPage(call, emptyForm)),
  post.user('/account/password', changePassword),
  get.anyone(joinPath, async (call) => joinPage(call, await findOffer(call), emptyForm)),
  post.anyone(joinPath, join),
];

async function changePassword(call: UserCall) {
  const { site, form, cookie, address } = call;
  const { user } = call.visitor;
  const next = form.get('password') ?? '';
  const refused = (problems: Record<string, string>): PageAnswer => ({
    ...accountPage(call, { values: form, problems }),
    status: 400,
  });
  const problem = await passwordProblem(site.passwords, next, user);
  if (problem) return refused({ password: problem });
  if (form.get('again') !== next) return refused({ again: 'must be the same password as above' });

  // An open session that somebody else finds must not help to guess the password either.
  const attempt = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const wait = await site.throttle.attempt(attempt);
  if (wait > 0) return rateLimited(refused({ current: tooMany(wait) }), wait);
  const changed = await site.signIn.changePassword(user, form.get('current') ?? '', next);
  if (!changed) return refused({ current: 'is not your password' });
  await site.throttle.succeed(attempt);
  return { redirect: '/account?changed=1', cookies: changed.cookies };
}

function accountPage({ site, query, visitor }: UserCall, state: FormState): PageAnswer {
  const { user, operator, tenants } = visitor;
  const links = tenants.map(({ id, name }) => (
    <a key={id} href={`/tenants/${name}`} class="listed">
      {name}
    </a>
  ));
  return {
    title: 'Account',
    body: (
      <section class="narrow">
        <h1>Account</h1>
        {query.get('changed') === '1' && (
          <Notice kind="good">Your password was changed, and your other sessions were ended.</Notice>
        )}
        <Facts
          facts={{
            'E-mail': user.email,
            Name: user.name,
            Role: operator ? 'Operator' : 'Member',
            Tenants: links.length > 0 && links,
          }}
        />
        {!operator && tenants.length === 0 && (
          <Empty title="You are a member of no tenant">
            <p>
              Ask an operator of this gateway for an invitation link, and open it while you are signed in.
            </p>
          </Empty>
        )}
        {site.oidc && <ProviderSection name={site.oidc.name} result={query.get('connected')} />}
        <h2>Change password</h2>
        <Form action="/account/password">
          {/* For password managers, which otherwise do not know whose password it is. */}
          <input type="hidden" name="username" value={user.email} autocomplete="username" />
          <Field
            name="current"
            label="Current password"
            type="password"
            state={state}
            required
            autocomplete="current-password"
          />
          <NewPassword state={state} />
          <button type="submit">Change password</button>
        </Form>
      </section>
    ),
  };
}

/** Connecting the account with the identity provider, so as to sign in through it. */
function ProviderSection({ name, result }: { name: string; result: string | undefined }) {
  return (
    <>
      <h2>Sign in with {name}</h2>
      {result === '1' && <Notice kind="good">Connected: you can sign in with {name} from now on.</Notice>}
      {result === '0' && (
        <Notice kind="bad">Connecting with {name} did not work. Try again in a moment.</Notice>
      )}
      <Form action="/account/oidc">
        <button type="submit" class="quiet-button">
          Connect with {name}
        </button>
      </Form>
    </>
  );
}

function findOffer({ site, params, address }: PageCall): Promise<Offer> {
  return site.members.offer(params.token ?? '', address);
}

async function join(call: PageCall): Promise<PageAnswer | Redirect> {
  const { site, params, visitor } = call;
  const offer = await findOffer(call);
  if (!visitor) return joinAs(call, offer);
  await site.members.join(params.token ?? '', visitor.user);
  return { redirect: '/' };
}

async function joinAs(call: PageCall, offer: Offer): Promise<PageAnswer | Redirect> {
  const { site, params, form, address } = call;
  const account = {
    email: (form.get('email') ?? '').trim().toLowerCase(),
    name: (form.get('name') ?? '').trim(),
    password: form.get('password') ?? '',
  };
  if (form.get('again') !== account.password) {
    const problems = await site.members.problemsOf(account);
    if (!problems.password) problems.again = 'must be the same password as above';
    return { ...joinPage(call, offer, { values: form, problems }), status: 400 };
  }
  try {
    await site.members.joinAs(params.token ?? '', account, address);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'rate_limited') {
      const { retryAfter = 1 } = error;
      const problems = { email: tooMany(retryAfter) };
      return rateLimited(joinPage(call, offer, { values: form, problems }), retryAfter);
    }
    return { ...joinPage(call, offer, formState(error, form, 'email')), status: 400 };
  }
  const session = await site.signIn.signIn(account.email, account.password, address);
  if (!session) return { redirect: '/sign-in' };
  return { redirect: '/', cookies: [...session.cookies, site.devices.remember(account.email)] };
}

function joinPage({ visitor, params }: PageCall, offer: Offer, state: FormState): PageAnswer {
  const what =
    offer.tenant_id === null ? 'You are invited as an operator' : `You are invited to ${offer.tenant}`;
  const action = `/join/${params.token}`;
  return {
    title: 'Invitation',
    body: (
      <section class="narrow">
        <h1>{what}</h1>
        <p>
          {offer.tenant_id === null
            ? 'Operators manage all tenants and keys of this gateway.'
            : 'Members manage their tenant’s API keys and see its usage.'}
        </p>
        {visitor ? (
          <Form action={action}>
            <p>
              You are signed in as <strong>{visitor.user.email}</strong>.
            </p>
            <button type="submit">Join with this account</button>
          </Form>
        ) : (
          <Form action={action}>
            <Field name="email" label="E-mail" type="email" state={state} required autocomplete="username" />
            <Field name="name" label="Name" state={state} autocomplete="name" maxLength={maxName} />
            <NewPassword state={state} />
            <button type="submit">Create account and join</button>
            <p class="quiet">
              You have an account? <a href="/sign-in">Sign in</a>, then open this link again.
            </p>
          </Form>
        )}
      </section>
    ),
  };
}

/** A new password, twice. */
function NewPassword({ state }: { state: FormState }) {
  const common = { type: 'password', state, required: true, autocomplete: 'new-password' } as const;
  return (
    <>
      <Field
        {...common}
        name="password"
        label="New password"
        minLength={minPassword}
        maxLength={maxPassword}
        hint={`At least ${minPassword} characters. A few words are fine.`}
      />
      <Field {...common} name="again" label="New password again" />
    </>
  );
}
