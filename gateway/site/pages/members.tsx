import type { Group } from '../accounts/account.js';
import type { Invitation, Person } from '../accounts/people.js';
import { maxNote } from '../accounts/people.js';
import { formState, get, post, postOnce, refused, type TenantCall, type UserCall } from '../page.js';
import { Page, ShownPage } from './document.js';
import { CopyBox, Empty, Field, Form, Moment, Notice, Table } from './elements.js';

const operatorsPath = '/operators';

/** The members of a tenant, and the operators: two groups of people with the same pages. */
export const memberPages = [
  ...(
    [
      [get, '', groupPage],
      [postOnce, '/invitations', invite],
      [post, '/invitations/:invitation/cancel', cancelInvitation],
      [post, '/:user/remove', removePerson],
    ] as const
  ).flatMap(([method, path, run]) => [
    method.tenantOperator(`/tenants/:tenant/members${path}`, (call) => run(ofTenant(call))),
    method.operator(`${operatorsPath}${path}`, (call) => run(ofOperators(call))),
  ]),
];

/** A call of a page of one of the groups; of the operators it has no tenant. */
interface GroupCall extends UserCall {
  tenant?: { name: string };
  group: Group;
  /** The path of the group's page. */
  base: string;
}

function ofTenant(call: TenantCall): GroupCall {
  const { id, name } = call.tenant;
  return { ...call, group: id, base: `/tenants/${name}/members` };
}

function ofOperators(call: UserCall): GroupCall {
  return { ...call, group: null, base: operatorsPath };
}

async function invite(call: GroupCall) {
  const { site, form, visitor, tenant, group, base } = call;
  try {
    const { token, note } = await site.members.invite(group, form.get('note') ?? '', visitor.user);
    const link = `${site.baseUrl}/join/${token}`;
    return (
      <ShownPage
        title="Invitation"
        tenant={tenant?.name}
        heading={`Invitation for ${note}`}
        href={base}
        back="I have copied it"
      >
        <Notice kind="warn">
          <strong>Copy the link now: it is shown this once.</strong> Who has it can join: send it to one
          person, in private.
        </Notice>
        <CopyBox id="link" label="Invitation link" text={link} />
        <p>It works once, within seven days.</p>
      </ShownPage>
    );
  } catch (error) {
    return refused(formState(error, form, 'note'), await groupPage(call));
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

async function groupPage({ site, tenant, group, base }: GroupCall) {
  const [people, invitations] = await Promise.all([site.people.of(group), site.invitations.open(group)]);
  const role = tenant ? 'member' : 'operator';
  return (
    <Page title={tenant ? `Members of ${tenant.name}` : 'Operators'} tenant={tenant?.name}>
      {tenant && <h2>Members</h2>}
      <p class="lead">
        {tenant
          ? 'Members issue and rotate the keys of this tenant and see its usage; of other tenants they see nothing.'
          : 'Operators manage every tenant, key and limit.'}
      </p>
      <Empty of={people} title={`No ${role}s yet`}>
        Invite the first one below, and send them the link that you get.
      </Empty>
      <PeopleTable base={base} role={role} people={people} />
      {invitations.length > 0 && <OpenInvitations base={base} invitations={invitations} />}
      <section class="panel">
        <h2>Invite</h2>
        <Form action={`${base}/invitations`} once class="row">
          <Field
            name="note"
            label="For whom"
            required
            maxLength={maxNote}
            hint={`So that you know which link is whose. You get a link that makes one person ${
              tenant ? 'a member' : 'an operator'
            }, once, within seven days.`}
          />
          <button type="submit">Create invitation link</button>
        </Form>
      </section>
    </Page>
  );
}

function PeopleTable({ base, role, people }: { base: string; role: string; people: readonly Person[] }) {
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
