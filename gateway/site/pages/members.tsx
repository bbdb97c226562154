import type { ComponentChild } from 'preact';
import { type ByUser, type OfTenant, operator, operatorOfTenant } from '../doors.js';
import { emptyForm, type FormState, formState, type PageAnswer, type PageRequest } from '../page.js';
import { get, type PageRoute, post, postOnce } from '../route.js';
import { InvitationShown, PeopleView } from './people.js';
import { TenantFrame } from './tenant-frame.js';

const membersPath = '/tenants/:tenant/members';
const operatorsPath = '/operators';

/** Who belongs to a tenant, and who are operators: two groups of people with the same pages. */
export const memberPages: PageRoute[] = [
  get(operatorOfTenant, membersPath, (call) => groupPage(ofTenant(call), emptyForm)),
  postOnce(operatorOfTenant, `${membersPath}/invitations`, (call) => invite(ofTenant(call))),
  post(operatorOfTenant, `${membersPath}/invitations/:invitation/cancel`, (call) => cancel(ofTenant(call))),
  post(operatorOfTenant, `${membersPath}/:user/remove`, (call) => remove(ofTenant(call))),
  get(operator, operatorsPath, (call) => groupPage(ofOperators(call), emptyForm)),
  postOnce(operator, `${operatorsPath}/invitations`, (call) => invite(ofOperators(call))),
  post(operator, `${operatorsPath}/invitations/:invitation/cancel`, (call) => cancel(ofOperators(call))),
  post(operator, `${operatorsPath}/:user/remove`, (call) => remove(ofOperators(call))),
];

/** A request for a page of one of the groups. */
interface GroupCall extends PageRequest, ByUser {
  /** Null: the operators. */
  tenant: { id: string; name: string } | null;
  /** The path of the group's page. */
  base: string;
}

function ofTenant(call: PageRequest & OfTenant): GroupCall {
  return { ...call, base: `/tenants/${call.tenant.name}/members` };
}

function ofOperators(call: PageRequest & ByUser): GroupCall {
  return { ...call, tenant: null, base: operatorsPath };
}

function groupOf({ tenant }: GroupCall): string | null {
  return tenant?.id ?? null;
}

async function invite(call: GroupCall): Promise<PageAnswer> {
  const { site, form, visitor, tenant, base } = call;
  try {
    const { token, note } = await site.members.invite(groupOf(call), form.get('note') ?? '', visitor.user);
    const link = `${site.baseUrl.replace(/\/$/, '')}/join/${token}`;
    const shown = <InvitationShown base={base} link={link} note={note} />;
    return { title: 'Invitation', body: framed(tenant, shown) };
  } catch (error) {
    return { ...(await groupPage(call, formState(error, form, 'note'))), status: 400 };
  }
}

async function cancel(call: GroupCall) {
  await call.site.members.cancel(groupOf(call), call.params.invitation ?? '', call.visitor.user);
  return { redirect: call.base };
}

async function remove(call: GroupCall) {
  await call.site.members.remove(groupOf(call), call.params.user ?? '', call.visitor.user);
  return { redirect: call.base };
}

async function groupPage(call: GroupCall, state: FormState): Promise<PageAnswer> {
  const { tenant, base } = call;
  const { people, invitations } = call.site;
  const [persons, open] = await Promise.all([
    tenant ? people.members(tenant.id) : people.operators(),
    invitations.open(groupOf(call)),
  ]);
  const view = (
    <>
      {tenant ? <h2>Members</h2> : <h1>Operators</h1>}
      <p class="lead">
        {tenant
          ? 'Members issue and rotate the keys of this tenant and see its usage; of other tenants they see nothing.'
          : 'Operators manage every tenant, key and limit.'}
      </p>
      <PeopleView
        base={base}
        role={tenant ? 'member' : 'operator'}
        people={persons}
        invitations={open}
        state={state}
        fixed={() => tenant === null && persons.length === 1}
      />
    </>
  );
  return { title: tenant ? `Members of ${tenant.name}` : 'Operators', body: framed(tenant, view) };
}

function framed(tenant: { name: string } | null, body: ComponentChild) {
  return tenant ? <TenantFrame name={tenant.name}>{body}</TenantFrame> : body;
}
