import { GatewayError } from '../../errors.js';
import { isLine } from '../../keys/checks.js';
import type { Invitation, NewAccount } from '../auth/invitations.js';
import { emptyForm, type FormState, type PageAnswer, type PageCall, type PageRoute } from '../page.js';
import type { Site } from '../site.js';
import { Field, Form } from './form.js';
import { NewPassword, passwordProblem } from './new-password.js';
import { tooMany } from './too-many.js';

const NOT_NEW =
  'No account can be made with this e-mail. If you have one, sign in with it, then open this link again.';

type Offer = Invitation & { tenant: string | null };

/** Taking up an invitation. The token is guarded against guessing by its length and by the address's throttle. */
export const joinPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/join/:token',
    access: 'anyone',
    async run(call) {
      return joinPage(call, await findInvitation(call), emptyForm);
    },
  },
  { method: 'POST', path: '/join/:token', access: 'anyone', run: join },
];

async function findInvitation({ site, params, address }: PageCall): Promise<Offer> {
  const wait = await site.throttle.attempt({ address });
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
  const invitation = await site.invitations.find(params.token ?? '');
  if (!invitation) throw gone();
  await site.throttle.succeed({ address });
  return invitation;
}

async function join(call: PageCall) {
  const { site, params, form, visitor, address } = call;
  const invitation = await findInvitation(call);
  const token = params.token ?? '';
  if (visitor) {
    const joined = await site.invitations.join(token, visitor.user.id);
    if (joined.state !== 'joined') throw gone();
    await note(site, invitation, visitor.user.email);
    return { redirect: '/' };
  }
  const account = {
    email: (form.get('email') ?? '').trim().toLowerCase(),
    name: (form.get('name') ?? '').trim(),
    password: form.get('password') ?? '',
  };
  const problems = await problemsOf(site, account, form.get('again') ?? '');
  if (Object.keys(problems).length > 0) return refused(call, invitation, problems);
  const tryer = { address, account: invitation.id };
  const wait = await site.joining.attempt(tryer);
  if (wait > 0) {
    const page = refused(call, invitation, { email: tooMany(wait) });
    return { ...page, status: 429, headers: { 'retry-after': String(wait) } };
  }
  const joined = await site.invitations.joinAs(token, account);
  // The one answer that tells of others' accounts: it alone uses up a try.
  if (joined.state === 'email_taken') return refused(call, invitation, { email: NOT_NEW });
  await site.joining.succeed(tryer);
  if (joined.state === 'invalid') throw gone();
  await note(site, invitation, account.email);
  const session = await site.signIn.signIn(account.email, account.password);
  if (!session) return { redirect: '/sign-in' };
  return { redirect: '/', cookies: [...session.cookies, site.devices.remember(account.email)] };
}

function refused(call: PageCall, invitation: Offer, problems: Record<string, string>): PageAnswer {
  return { ...joinPage(call, invitation, { values: call.form, problems }), status: 400 };
}

async function note(site: Site, { tenant_id, id }: Invitation, email: string): Promise<void> {
  const detail = { invitation: id, ...(tenant_id === null && { operator: true }) };
  await site.store.change((tx) =>
    tx.audit({
      at: site.now(),
      actor: `user:${email}`,
      action: 'member.join',
      tenant_id,
      key_id: null,
      detail,
    }),
  );
}

/** One message for a link that was used, cancelled, has run out or never was. */
function gone(): GatewayError {
  return new GatewayError('not_found', {
    message:
      'This invitation cannot be used: it was used before, cancelled, or is older than seven days. Ask for a new one.',
  });
}

async function problemsOf(site: Site, account: NewAccount, again: string) {
  const problems: Record<string, string> = {};
  // As strict as what better-auth takes at sign-in, or an account could be made that cannot be used.
  if (
    account.email.length > 254 ||
    !/^[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/.test(account.email) ||
    /^\.|\.\./.test(account.email)
  ) {
    problems.email = 'must be an e-mail address such as name@example.com';
  }
  if (!isLine(account.name, 100)) {
    problems.name = 'must be at most 100 characters without control characters';
  }
  const problem = await passwordProblem(site, account.password, account);
  if (problem) problems.password = problem;
  else if (again !== account.password) problems.again = 'must be the same password as above';
  return problems;
}

function joinPage({ visitor, params }: PageCall, invitation: Offer, state: FormState): PageAnswer {
  const what =
    invitation.tenant_id === null
      ? 'You are invited as an operator'
      : `You are invited to ${invitation.tenant}`;
  const action = `/join/${params.token}`;
  return {
    title: 'Invitation',
    body: (
      <section class="narrow">
        <h1>{what}</h1>
        <p>
          {invitation.tenant_id === null
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
            <Field name="name" label="Name" state={state} autocomplete="name" maxLength={100} />
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
