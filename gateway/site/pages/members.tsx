import type { ComponentChild } from 'preact';
import { maxNote } from '../accounts/member-admin.js';
import type { Invitation, Person } from '../accounts/people.js';
import {
  emptyForm,
  type FormState,
  formState,
  get,
  type PageAnswer,
  post,
  postOnce,
  type TenantCall,
  type UserCall,
} from '../page.js';
import { TenantFrame } from './document.js';
import { CopyBox, Empty, Field, Form, Moment, Notice, Shown, Table } from './elements.js';

const membersPath = '/tenants/:tenant/members';
const operatorsPath = '/operators';

/** The members of a tenant, and the operators: two groups of people with the same pages. */
export const memberPages = [
  get.tenantOperator(membersPath, (call) => groupPage(ofTenant(call), emptyForm)),
  postOnce.tenantOperator(`${membersPath}/invitations`, (call) => invite(ofTenant(call))),
  post.tenantOperator(`${membersPath}/invitations/:invitation/cancel`, (call) =>
    cancelInvitation(ofTenant(call)),
  ),
  post.tenantOperator(`${membersPath}/:user/remove`, (call) => removePerson(ofTenant(call))),
  get.operator(operatorsPath, (call) => groupPage(ofOperators(call), emptyForm)),
  postOnce.operator(`${operatorsPath}/invitations`, (call) => invite(ofOperators(call))),
  post.operator(`${operatorsPath}/invitations/:invitation/cancel`, (call) =>
    cancelInvitation(ofOperators(call)),
  ),
  post.operator(`${operatorsPath}/:user/remove`, (call) => removePerson(ofOperators(call))),
];

/** A call of a page of one of the groups. */
interface GroupCall extends UserCall {
  /** Null: the operators. */
  tenant: { id: string; name: string } | null;
  /** The tenant's id; null: the operators. */
  group: string | null;
  /** The path of the group's page. */
  base: string;
}

function ofTenant(call: TenantCall): GroupCall {
  const { id, name } = call.tenant;
  return { ...call, group: id, base: `/tenants/${name}/members` };
}

function ofOperators(call: UserCall): GroupCall {
  return { ...call, tenant: null, group: null, base: operatorsPath };
}

async function invite(call: GroupCall): Promise<PageAnswer> {
  const { site, form, visitor, tenant, group, base } = call;
  try {
    const { token, note } = await site.members.invite(group, form.get('note') ?? '', visitor.user);
    const link = `${site.baseUrl.replace(/\/$/, '')}/join/${token}`;
    const shown = (
      <Shown title={`Invitation for ${note}`} href={base} back="I have copied it">
        <Notice kind="warn">
          <strong>Copy the link now: it is shown this once.</strong> Who has it can join: send it to one
          person, in private.
        </Notice>
        <CopyBox id="link" label="Invitation link" text={link} />
        <p>It works once, within seven days.</p>
      </Shown>
    );
    return { title: 'Invitation', body: withTenantFrame(tenant, shown) };
  } catch (error) {
    return { ...(await groupPage(call, formState(error, form, 'note'))), status: 400 };
  }
}

async function cancelInvitation({ site, group, params, visitor, base }: GroupCall) {
  await site.members.cancel(group, params.invitation ?? '', visitor.user);
  return { redirect: base };
}

async function removePerson({ site, group, params, visitor, base }: GroupCall) {
  await site.members.remove(group, params.user ?? '', visitor.user);
  return { redirect: base };
}

async function groupPage({ site, tenant, group, base }: GroupCall, state: FormState): Promise<PageAnswer> {
  const [people, invitations] = await Promise.all([
    tenant ? site.people.members(tenant.id) : site.people.operators(),
    site.invitations.open(group),
  ]);
  const role = tenant ? 'member' : 'operator';
  const view = (
    <>
      {tenant ? <h2>Members</h2> : <h1>Operators</h1>}
      <p class="lead">
        {tenant
          ? 'Members issue and rotate the keys of this tenant and see its usage; of other tenants they see nothing.'
          : 'Operators manage every tenant, key and limit.'}
      </p>
      {people.length === 0 ? (
        <Empty title={`No ${role}s yet`}>
          <p>Invite the first one below, and send them the link that you get.</p>
        </Empty>
      ) : (
        <PeopleTable base={base} role={role} people={people} />
      )}
      {invitations.length > 0 && <OpenInvitations base={base} invitations={invitations} />}
      <section class="panel">
        <h2>Invite</h2>
        <Form action={`${base}/invitations`} once class="row">
          <Field
            name="note"
            label="For whom"
            state={state}
            required
            maxLength={maxNote}
            hint={`So that you know which link is whose. You get a link that makes one person ${
              tenant ? 'a member' : 'an operator'
            }, once, within seven days.`}
          />
          <button type="submit">Create invitation link</button>
        </Form>
      </section>
    </>
  );
  return { title: tenant ? `Members of ${tenant.name}` : 'Operators', body: withTenantFrame(tenant, view) };
}

function PeopleTable(props: { base: string; role: 'member' | 'operator'; people: readonly Person[] }) {
  const { base, role, people } = props;
  // The last operator cannot be removed.
  const removable = role === 'member' || people.length > 1;
  const removal = ({ id, email }: Person) => (
    <Form action={`${base}/${id}/remove`}>
      <button type="submit" class="small quiet-button">
        Remove<span class="hidden"> {email}</span>
      </button>
    </Form>
  );
  return (
    <Table
      label={`${role}s`}
      rows={people}
      columns={[
        { head: 'E-mail', rowHead: true, cell: ({ email }) => email },
        { head: 'Name', cell: ({ name }) => name },
        { head: 'Since', cell: ({ since }) => <Moment at={since} /> },
        { head: 'Remove', hiddenHead: true, cell: (person) => removable && removal(person) },
      ]}
    />
  );
}

function OpenInvitations({ base, invitations }: { base: string; invitations: readonly Invitation[] }) {
  const cancellation = ({ id, note }: Invitation) => (
    <Form action={`${base}/invitations/${id}/cancel`}>
      <button type="submit" class="small quiet-button">
        Cancel<span class="hidden"> the invitation for {note}</span>
      </button>
    </Form>
  );
  return (
    <>
      <h3>Open invitations</h3>
      <Table
        label="Open invitations"
        rows={invitations}
        columns={[
          { head: 'For', rowHead: true, cell: ({ note }) => note },
          { head: 'Made by', cell: ({ created_by }) => created_by },
          { head: 'Runs out', cell: ({ expires_at }) => <Moment at={expires_at} /> },
          { head: 'Cancel', hiddenHead: true, cell: cancellation },
        ]}
      />
    </>
  );
}

function withTenantFrame(tenant: { name: string } | null, body: ComponentChild) {
  return tenant ? <TenantFrame name={tenant.name}>{body}</TenantFrame> : body;
}
