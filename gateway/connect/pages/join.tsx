import { GatewayError } from '../../errors.js';
import { isLine } from '../../keys/checks.js';
import type { Invitation } from '../auth/invitations.js';
import { MAX_PASSWORD, MIN_PASSWORD } from '../auth/sign-in.js';
import { emptyForm, type FormState, type PageAnswer, type PageCall, type PageRoute } from '../page.js';
import type { Site } from '../site.js';
import { Field, Form } from './form.js';

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
  const wait = await site.throttle.attempt(address);
  if (wait > 0) throw new GatewayError('rate_limited', { retryAfter: wait });
  const invitation = await site.invitations.find(params.token ?? '');
  if (!invitation) throw gone();
  await site.throttle.succeed(address);
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
  const problems = problemsOf(account, form.get('again') ?? '');
  if (Object.keys(problems).length > 0) return refused(call, invitation, problems);
  const joined = await site.invitations.joinAs(token, account);
  if (joined.state === 'invalid') throw gone();
  if (joined.state === 'email_taken') {
    const email = 'There is an account with this e-mail. Sign in with it, then open this link again.';
    return refused(call, invitation, { email });
  }
  await note(site, invitation, account.email);
  await site.throttle.succeed(address);
  const session = await site.signIn.signIn(account.email, account.password);
  return { redirect: session ? '/' : '/sign-in', cookies: session?.cookies ?? [] };
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

function problemsOf(account: { email: string; name: string; password: string }, again: string) {
  const problems: Record<string, string> = {};
  // As strict as what better-auth takes at sign-in, or an account could be made that cannot be used.
  if (
    !/^[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/.test(account.email) ||
    /^\.|\.\./.test(account.email)
  ) {
    problems.email = 'must be an e-mail address such as name@example.com';
  }
  if (!isLine(account.name, 100)) {
    problems.name = 'must be at most 100 characters without control characters';
  }
  const problem = passwordProblem(account.password);
  if (problem) problems.password = problem;
  else if (again !== account.password) problems.again = 'must be the same password as above';
  return problems;
}

/** What is wrong with a new password, if anything. */
export function passwordProblem(password: string): string | undefined {
  const fits = password.length >= MIN_PASSWORD && password.length <= MAX_PASSWORD;
  return fits ? undefined : `must be ${MIN_PASSWORD} to ${MAX_PASSWORD} characters; a few words are fine`;
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

/** A new password, twice. */
export function NewPassword({ state }: { state: FormState }) {
  const common = { type: 'password', state, required: true, autocomplete: 'new-password' } as const;
  return (
    <>
      <Field
        {...common}
        name="password"
        label="New password"
        minLength={MIN_PASSWORD}
        maxLength={MAX_PASSWORD}
        hint={`At least ${MIN_PASSWORD} characters. A few words are fine.`}
      />
      <Field {...common} name="again" label="New password again" />
    </>
  );
}
