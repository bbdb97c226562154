import { passwordProblem } from '../accounts/new-account.js';
import { type ByUser, user } from '../doors.js';
import { emptyForm, type FormState, type PageAnswer, type PageRequest } from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import { Empty, Notice } from './elements.js';
import { Field, Form } from './form.js';
import { NewPassword } from './new-password.js';
import { tooMany } from './too-many.js';

export const accountPages: PageRoute[] = [
  get(user, '/account', async (call) => accountPage(call, emptyForm, call.query.get('changed') === '1')),
  post(user, '/account/password', changePassword),
];

type AccountCall = PageRequest & ByUser;

async function changePassword(call: AccountCall) {
  const { site, form, cookie, address } = call;
  const { user } = call.visitor;
  const next = form.get('password') ?? '';
  const problems: Record<string, string> = {};
  const problem = await passwordProblem(site.passwords, next, user);
  if (problem) problems.password = problem;
  else if (form.get('again') !== next) problems.again = 'must be the same password as above';
  if (Object.keys(problems).length > 0) return refused(call, problems, 400);

  // Whoever finds an open session may not guess the password through it either.
  const tryer = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const wait = await site.throttle.attempt(tryer);
  if (wait > 0) {
    const answer = refused(call, { current: tooMany(wait) }, 429);
    return { ...answer, headers: { 'retry-after': String(wait) } };
  }
  const changed = await site.signIn.changePassword(user, form.get('current') ?? '', next);
  if (!changed) return refused(call, { current: 'is not your password' }, 400);
  await site.throttle.succeed(tryer);
  return { redirect: '/account?changed=1', cookies: changed.cookies };
}

function refused(call: AccountCall, problems: Record<string, string>, status: number): PageAnswer {
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
        {call.site.oidc && <Provider name={call.site.oidc.name} result={call.query.get('connected')} />}
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
function Provider({ name, result }: { name: string; result: string | undefined }) {
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
