import { GatewayError } from '../../errors.js';
import type { Offer } from '../accounts/invitations.js';
import { longestName } from '../accounts/new-account.js';
import { anyone, type ByAnyone } from '../doors.js';
import {
  emptyForm,
  type FormState,
  formState,
  type PageAnswer,
  type PageRequest,
  type Redirect,
} from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import { Field, Form } from './form.js';
import { NewPassword } from './new-password.js';
import { tooMany } from './too-many.js';

type JoinCall = PageRequest & ByAnyone;

const path = '/join/:token';

/** Taking up an invitation. */
export const joinPages: PageRoute[] = [
  get(anyone, path, async (call) => joinPage(call, await findOffer(call), emptyForm)),
  post(anyone, path, join),
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
    return refused(call, offer, { values: form, problems });
  }
  try {
    await site.members.joinAs(params.token ?? '', account, address);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'rate_limited')
      return refusedForNow(call, offer, error);
    return refused(call, offer, formState(error, form, 'email'));
  }
  const session = await site.signIn.signIn(account.email, account.password, address);
  if (!session) return { redirect: '/sign-in' };
  return { redirect: '/', cookies: [...session.cookies, site.devices.remember(account.email)] };
}

function refused(call: JoinCall, offer: Offer, state: FormState): PageAnswer {
  return { ...joinPage(call, offer, state), status: 400 };
}

function refusedForNow(call: JoinCall, offer: Offer, { retryAfter = 1 }: GatewayError): PageAnswer {
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
            <Field name="name" label="Name" state={state} autocomplete="name" maxLength={longestName} />
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
