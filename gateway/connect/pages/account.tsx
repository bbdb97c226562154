import {
  emptyForm,
  type FormState,
  type PageAnswer,
  type PageCall,
  type PageRoute,
  userOf,
} from '../page.js';
import { Field, Form } from './form.js';
import { NewPassword, passwordProblem } from './join.js';
import { Empty, Notice } from './parts.js';

export const accountPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/account',
    access: 'user',
    async run(call) {
      return accountPage(call, emptyForm, call.query.get('changed') === '1');
    },
  },
  { method: 'POST', path: '/account/password', access: 'user', run: changePassword },
];

async function changePassword(call: PageCall) {
  const { site, form, cookie, address } = call;
  const { email } = userOf(call).user;
  const next = form.get('password') ?? '';
  const problems: Record<string, string> = {};
  const problem = passwordProblem(next);
  if (problem) problems.password = problem;
  else if (form.get('again') !== next) problems.again = 'must be the same password as above';
  if (Object.keys(problems).length > 0) return refused(call, problems, 400);

  // Whoever finds an open session may not guess the password through it either.
  const wait = await site.throttle.attempt(address, email);
  if (wait > 0) {
    const answer = refused(call, { current: `Too many tries. Wait ${Math.ceil(wait / 60)} min.` }, 429);
    return { ...answer, headers: { 'retry-after': String(wait) } };
  }
  const changed = await site.signIn.changePassword(cookie, form.get('current') ?? '', next);
  if (!changed) return refused(call, { current: 'is not your password' }, 400);
  await site.throttle.succeed(address, email);
  return { redirect: '/account?changed=1', cookies: changed.cookies };
}

function refused(call: PageCall, problems: Record<string, string>, status: number): PageAnswer {
  return { ...accountPage(call, { values: call.form, problems }, false), status };
}

function accountPage(call: PageCall, state: FormState, changed: boolean): PageAnswer {
  const { user, operator, tenants } = userOf(call);
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
