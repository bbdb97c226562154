import { GatewayError } from '../../errors.js';
import { maxName, maxPassword, minPassword, passwordProblem } from '../accounts/passwords.js';
import type { Offer } from '../accounts/people.js';
import {
  emptyForm,
  type FormState,
  forAnyone,
  formState,
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
import { Empty, Field, Form, Notice } from './elements.js';
import { tooMany } from './sign-in.js';

export const accountPages: PageRoute[] = [
  getRoute(forUser, '/account', async (call) =>
    accountPage(call, emptyForm, call.query.get('changed') === '1'),
  ),
  postRoute(forUser, '/account/password', changePassword),
];

type AccountCall = PageRequest & WithUser;

async function changePassword(call: AccountCall) {
  const { site, form, cookie, address } = call;
  const { user } = call.visitor;
  const next = form.get('password') ?? '';
  const problems: Record<string, string> = {};
  const problem = await passwordProblem(site.passwords, next, user);
  if (problem) problems.password = problem;
  else if (form.get('again') !== next) problems.again = 'must be the same password as above';
  if (Object.keys(problems).length > 0) return refusedChange(call, problems, 400);

  // Whoever finds an open session may not guess the password through it either.
  const tryer = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const wait = await site.throttle.attempt(tryer);
  if (wait > 0) {
    const answer = refusedChange(call, { current: tooMany(wait) }, 429);
    return { ...answer, headers: { 'retry-after': String(wait) } };
  }
  const changed = await site.signIn.changePassword(user, form.get('current') ?? '', next);
  if (!changed) return refusedChange(call, { current: 'is not your password' }, 400);
  await site.throttle.succeed(tryer);
  return { redirect: '/account?changed=1', cookies: changed.cookies };
}

function refusedChange(call: AccountCall, problems: Record<string, string>, status: number): PageAnswer {
  return { ...accountPage(call, { values: call.form, problems }, false), status };
}

function accountPage(call: AccountCall, state: FormState, changed: boolean): PageAnswer {
  const { user, operator, tenants } = call.visitor;
  return {
    title: 'Account',
    body: (
      <section class="narrow">
        <h1>Account</h1>
        {changed && (
          <Notice kind="good">Your password was changed, and your other sessions were ended.</Notice>
        )}
        <dl class="facts">
          <dt>E-mail</dt>
          <dd>{user.email}</dd>
          {user.name && (
            <>
              <dt>Name</dt>
              <dd>{user.name}</dd>
            </>
          )}
          <dt>Role</dt>
          <dd>{operator ? 'Operator' : 'Member'}</dd>
          {tenants.length > 0 && (
            <>
              <dt>Tenants</dt>
              <dd>
                {tenants.map(({ id, name }) => (
                  <a key={id} href={`/tenants/${name}`} class="listed">
                    {name}
                  </a>
                ))}
              </dd>
            </>
          )}
        </dl>
        {!operator && tenants.length === 0 && (
          <Empty title="You are a member of no tenant">
            <p>
              Ask an operator of this gateway for an invitation link, and open it while you are signed in.
            </p>
          </Empty>
        )}
        {call.site.oidc && (
          <ProviderSection name={call.site.oidc.name} result={call.query.get('connected')} />
        )}
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

type JoinCall = PageRequest & WithVisitor;

const joinPath = '/join/:token';

/** Taking up an invitation. */
export const joinPages: PageRoute[] = [
  getRoute(forAnyone, joinPath, async (call) => joinPage(call, await findOffer(call), emptyForm)),
  postRoute(forAnyone, joinPath, join),
];

function findOffer({ site, params, address }: JoinCall): Promise<Offer> {
  return site.members.offer(params.token ?? '', address);
}

async function join(call: JoinCall): Promise<PageAnswer | Redirect> {
  const { site, params, visitor } = call;
  const offer = await findOffer(call);
  if (!visitor) return joinAs(call, offer);
  await site.members.join(params.token ?? '', visitor.user);
  return { redirect: '/' };
}

async function joinAs(call: JoinCall, offer: Offer): Promise<PageAnswer | Redirect> {
  const { site, params, form, address } = call;
  const account = {
    email: (form.get('email') ?? '').trim().toLowerCase(),
    name: (form.get('name') ?? '').trim(),
    password: form.get('password') ?? '',
  };
  if (form.get('again') !== account.password) {
    const problems = await site.members.problemsOf(account);
    if (!problems.password) problems.again = 'must be the same password as above';
    return refusedJoin(call, offer, { values: form, problems });
  }
  try {
    await site.members.joinAs(params.token ?? '', account, address);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'rate_limited')
      return rateLimitedJoin(call, offer, error);
    return refusedJoin(call, offer, formState(error, form, 'email'));
  }
  const session = await site.signIn.signIn(account.email, account.password, address);
  if (!session) return { redirect: '/sign-in' };
  return { redirect: '/', cookies: [...session.cookies, site.devices.remember(account.email)] };
}

function refusedJoin(call: JoinCall, offer: Offer, state: FormState): PageAnswer {
  return { ...joinPage(call, offer, state), status: 400 };
}

function rateLimitedJoin(call: JoinCall, offer: Offer, { retryAfter = 1 }: GatewayError): PageAnswer {
  const page = joinPage(call, offer, { values: call.form, problems: { email: tooMany(retryAfter) } });
  return { ...page, status: 429, headers: { 'retry-after': String(retryAfter) } };
}

function joinPage({ visitor, params }: JoinCall, offer: Offer, state: FormState): PageAnswer {
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
