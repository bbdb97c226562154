import type { VNode } from 'preact';
import { GatewayError } from '../../errors.js';
import { maxName, maxPassword, minPassword, passwordProblem, personProblems } from '../accounts/passwords.js';
import type { Offer } from '../accounts/people.js';
import { formState, get, type PageCall, post, refused, type UserCall } from '../page.js';
import { Page } from './document.js';
import { Empty, Facts, Field, Form, Moment, Notice, Table } from './elements.js';
import { roleNames, roleTexts } from './members.js';
import { rateLimited, tooMany } from './sign-in.js';

const joinPath = '/join/:token';

/** The visitor's own account, and the page of an invitation, which makes one. */
export const accountPages = [
  get.user('/account', async (call) => accountPage(call)),
  post.user('/account/password', changePassword),
  post.user('/account/profile', rename),
  post.user('/account/sessions/:session/end', async ({ site, visitor, params }) => {
    await site.signIn.sessions.endOne(visitor.user, params.session ?? '');
    return { redirect: '/account?done=session' };
  }),
  get.anyone(joinPath, async (call) => joinPage(call, await findOffer(call))),
  post.anyone(joinPath, join),
];

async function changePassword(call: UserCall) {
  const { site, form } = call;
  const { user } = call.visitor;
  const next = form.get('password') ?? '';
  const page = await accountPage(call);
  const again = (problems: Record<string, string>) => refused({ values: form, problems }, page);
  const problem = await passwordProblem(site.passwords, next, user);
  if (problem) return again({ password: problem });
  if (form.get('again') !== next) return again({ again: 'must be the same password as above' });
  const wrong = await checkPassword(call, 'current', page);
  if (wrong) return wrong;
  const changed = await site.signIn.changePassword(user, form.get('current') ?? '', next, call);
  if (!changed) return again({ current: 'is wrong' });
  return { redirect: '/account?done=password', cookies: changed.cookies };
}

/**
 * The answer where the field has another than the visitor's password, slowed down as signing in is: an open session that
 * somebody else finds must not help to guess it.
 */
export async function checkPassword(
  { site, form, cookie, address, visitor: { user } }: UserCall,
  field: string,
  page: VNode,
) {
  const attempt = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const again = (problem: string) => refused({ values: form, problems: { [field]: problem } }, page);
  const wait = await site.throttle.attempt(attempt);
  if (wait > 0) return rateLimited(again(tooMany(wait)), wait);
  if (!(await site.signIn.verify(user, form.get(field) ?? ''))) return again('is wrong');
  await site.throttle.succeed(attempt);
  return undefined;
}

async function rename(call: UserCall) {
  const { site, form, visitor } = call;
  const { user } = visitor;
  const name = (form.get('name') ?? '').trim();
  const email = (form.get('email') ?? '').trim().toLowerCase();
  const page = await accountPage(call);
  const problems = personProblems({ name, email });
  if (Object.keys(problems).length > 0) return refused({ values: form, problems }, page);
  const wrong = email === user.email ? undefined : await checkPassword(call, 'confirm', page);
  if (wrong) return wrong;
  try {
    await site.signIn.rename(user, { name, email });
  } catch (error) {
    return refused(formState(error, form, 'email'), page);
  }
  return { redirect: '/account?done=profile', cookies: [site.devices.remember(email)] };
}

const doneMessages = new Map([
  ['password', 'Your password was changed, and your other sessions were ended.'],
  ['profile', 'Saved.'],
  ['session', 'That session was ended.'],
]);

async function accountPage({ site, query, visitor }: UserCall) {
  const { user, role, tenants } = visitor;
  const links = tenants.map(({ id, name, role }) => (
    <span key={id} class="listed">
      <a href={`/tenants/${name}`}>{name}</a> ({roleNames[role].toLowerCase()})
    </span>
  ));
  const sessions = await site.signIn.sessions.of(user.id);
  const message = doneMessages.get(query.get('done') ?? '');
  return (
    <Page title="Account">
      {message && <Notice kind="good">{message}</Notice>}
      <Facts
        facts={{
          'Second factor': (
            <>
              {visitor.secondFactor ? 'on' : 'off'}{' '}
              <a href="/account/second-factor">{visitor.secondFactor ? 'Change…' : 'Set up…'}</a>
            </>
          ),
          Role: role && roleNames[role],
          Tenants: links.length > 0 && links,
        }}
      />
      {role === null && (
        <Empty of={tenants} title="You are a member of no tenant">
          Ask an operator of this gateway for an invitation link, and open it while you are signed in.
        </Empty>
      )}
      <h2>Name and e-mail</h2>
      <Form action="/account/profile">
        <Field name="name" label="Name" value={user.name} autocomplete="name" maxLength={maxName} />
        <Field name="email" label="E-mail" type="email" value={user.email} required autocomplete="username" />
        <Field
          name="confirm"
          label="Your password"
          type="password"
          autocomplete="current-password"
          hint="For another e-mail, with which you sign in from then on."
        />
        <button type="submit">Save</button>
      </Form>
      {site.oidc && <ProviderSection name={site.oidc.name} result={query.get('connected')} />}
      <h2>Change password</h2>
      <Form action="/account/password">
        {/* For password managers, which otherwise do not know whose password it is. */}
        <input type="hidden" name="username" value={user.email} autocomplete="username" />
        <Field
          name="current"
          label="Current password"
          type="password"
          required
          autocomplete="current-password"
        />
        <NewPassword />
        <button type="submit">Change password</button>
      </Form>
      <h2>Sessions</h2>
      <Table
        label="Sessions"
        rows={sessions}
        columns={[
          {
            head: 'Browser',
            rowHead: true,
            cell: ({ id, agent }) => `${browserName(agent)}${id === visitor.id ? ' (this one)' : ''}`,
          },
          { head: 'Address', priority: 2, cell: ({ address }) => address },
          { head: 'Since', priority: 3, cell: ({ created_at }) => <Moment at={created_at} /> },
          { head: 'Last use', cell: ({ seen_at }) => <Moment at={seen_at} /> },
          {
            head: 'End',
            hiddenHead: true,
            cell: ({ id }) =>
              id !== visitor.id && (
                <Form action={`/account/sessions/${id}/end`}>
                  <button type="submit" class="small quiet-button">
                    Sign out there
                  </button>
                </Form>
              ),
          },
        ]}
      />
    </Page>
  );
}

/** What a browser says that it is, in short: "Firefox on Linux". Each also names those that it descends from. */
function browserName(agent: string): string {
  const first = (names: string[]) => names.find((name) => agent.includes(name));
  const browser = first(['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari']);
  const system = first(['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux']);
  if (!browser) return agent.split(' ')[0]?.slice(0, 40) || 'unknown';
  const name = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser;
  return system ? `${name} on ${system}` : name;
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

async function join(call: PageCall) {
  const { site, params, visitor } = call;
  const offer = await findOffer(call);
  if (!visitor) return joinAs(call, offer);
  await site.members.join(params.token ?? '', visitor.user);
  return { redirect: '/' };
}

async function joinAs(call: PageCall, offer: Offer) {
  const { site, params, form, address } = call;
  const account = {
    email: (form.get('email') ?? '').trim().toLowerCase(),
    name: (form.get('name') ?? '').trim(),
    password: form.get('password') ?? '',
  };
  if (form.get('again') !== account.password) {
    const problems = await site.members.problemsOf(account);
    if (!problems.password) problems.again = 'must be the same password as above';
    return refused({ values: form, problems }, joinPage(call, offer));
  }
  try {
    await site.members.joinAs(params.token ?? '', account, address);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'rate_limited') {
      const { retryAfter = 1 } = error;
      const problems = { email: tooMany(retryAfter) };
      return rateLimited(refused({ values: form, problems }, joinPage(call, offer)), retryAfter);
    }
    return refused(formState(error, form, 'email'), joinPage(call, offer));
  }
  const session = await site.signIn.signIn(account.email, account.password, call);
  if (!session) return { redirect: '/sign-in' };
  return { redirect: '/', cookies: [...session.cookies, site.devices.remember(account.email)] };
}

function joinPage({ visitor, params }: PageCall, offer: Offer) {
  const role = offer.role ?? (offer.tenant_id === null ? 'operator' : 'member');
  const what =
    offer.tenant_id === null
      ? `You are invited as ${role === 'operator' ? 'an operator' : 'support staff'}`
      : `You are invited to ${offer.tenant}`;
  const action = `/join/${params.token}`;
  return (
    <Page title="Invitation" heading={what} narrow>
      <p>{roleTexts[role]}</p>
      {visitor ? (
        <Form action={action}>
          <p>
            You are signed in as <strong>{visitor.user.email}</strong>.
          </p>
          <button type="submit">Join with this account</button>
        </Form>
      ) : (
        <Form action={action}>
          <Field name="email" label="E-mail" type="email" required autocomplete="username" />
          <Field name="name" label="Name" autocomplete="name" maxLength={maxName} />
          <NewPassword />
          <button type="submit">Create account and join</button>
          <p class="quiet">
            You have an account? <a href="/sign-in">Sign in</a>, then open this link again.
          </p>
        </Form>
      )}
    </Page>
  );
}

/** A new password, twice. */
function NewPassword() {
  const common = { type: 'password', required: true, autocomplete: 'new-password' } as const;
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
