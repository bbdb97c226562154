import type { ComponentChild } from 'preact';
import { maxNote } from '../accounts/member-admin.js';
import type { Invitation, Person } from '../accounts/people.js';
import {
  emptyForm,
  type FormState,
  formState,
  forOperator,
  forTenantOperator,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postOnceRoute,
  postRoute,
  type WithTenant,
  type WithUser,
} from '../page.js';
import { TenantFrame } from './document.js';
import { CopyBox, Empty, Field, Form, Moment, Notice, Table } from './elements.js';

const membersPath = '/tenants/:tenant/members';
const operatorsPath = '/operators';

/** Who belongs to a tenant, and who are operators: two groups of people with the same pages. */
export const memberPages: PageRoute[] = [
  getRoute(forTenantOperator, membersPath, (call) => groupPage(ofTenant(call), emptyForm)),
  postOnceRoute(forTenantOperator, `${membersPath}/invitations`, (call) => invite(ofTenant(call))),
  postRoute(forTenantOperator, `${membersPath}/invitations/:invitation/cancel`, (call) =>
    cancelInvitation(ofTenant(call)),
  ),
  postRoute(forTenantOperator, `${membersPath}/:user/remove`, (call) => removePerson(ofTenant(call))),
  getRoute(forOperator, operatorsPath, (call) => groupPage(ofOperators(call), emptyForm)),
  postOnceRoute(forOperator, `${operatorsPath}/invitations`, (call) => invite(ofOperators(call))),
  postRoute(forOperator, `${operatorsPath}/invitations/:invitation/cancel`, (call) =>
    cancelInvitation(ofOperators(call)),
  ),
  postRoute(forOperator, `${operatorsPath}/:user/remove`, (call) => removePerson(ofOperators(call))),
];

/** A request for a page of one of the groups. */
interface GroupCall extends PageRequest, WithUser {
  /** Null: the operators. */
  tenant: { id: string; name: string } | null;
  /** The path of the group's page. */
  base: string;
}

function ofTenant(call: PageRequest & WithTenant): GroupCall {
  return { ...call, base: `/tenants/${call.tenant.name}/members` };
}

function ofOperators(call: PageRequest & WithUser): GroupCall {
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
    return { title: 'Invitation', body: withTenantFrame(tenant, shown) };
  } catch (error) {
    return { ...(await groupPage(call, formState(error, form, 'note'))), status: 400 };
  }
}

async function cancelInvitation(call: GroupCall) {
  await call.site.members.cancel(groupOf(call), call.params.invitation ?? '', call.visitor.user);
  return { redirect: call.base };
}

async function removePerson(call: GroupCall) {
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
  return { title: tenant ? `Members of ${tenant.name}` : 'Operators', body: withTenantFrame(tenant, view) };
}

function withTenantFrame(tenant: { name: string } | null, body: ComponentChild) {
  return tenant ? <TenantFrame name={tenant.name}>{body}</TenantFrame> : body;
}

/** People, open invitations and the form to invite another: for one tenant's members, and for operators. */
function PeopleView(props: {
  /** Path of this page; its forms lie below it. */
  base: string;
  /** `member` or `operator`. */
  role: string;
  people: readonly Person[];
  invitations: readonly Invitation[];
  state: FormState;
  /** Those who cannot be removed here. */
  fixed?: (person: Person) => boolean;
}) {
  const { base, role, people, invitations, state } = props;
  return (
    <>
      {people.length === 0 ? (
        <Empty title={`No ${role}s yet`}>
          <p>Invite the first one below, and send them the link that you get.</p>
        </Empty>
      ) : (
        <Table
          label={`${role}s`}
          head={
            <>
              <th scope="col">E-mail</th>
              <th scope="col">Name</th>
              <th scope="col">Since</th>
              <th scope="col">
                <span class="hidden">Remove</span>
              </th>
            </>
          }
        >
          {people.map((person) => (
            <tr key={person.id}>
              <th scope="row">{person.email}</th>
              <td>{person.name}</td>
              <td>
                <Moment at={person.since} />
              </td>
              <td>
                {!props.fixed?.(person) && (
                  <Form action={`${base}/${person.id}/remove`}>
                    <button type="submit" class="small quiet-button">
                      Remove<span class="hidden"> {person.email}</span>
                    </button>
                  </Form>
                )}
              </td>
            </tr>
          ))}
        </Table>
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
              role === 'operator' ? 'an operator' : `a ${role}`
            }, once, within seven days.`}
          />
          <button type="submit">Create invitation link</button>
        </Form>
      </section>
    </>
  );
}

function OpenInvitations({ base, invitations }: { base: string; invitations: readonly Invitation[] }) {
  return (
    <>
      <h3>Open invitations</h3>
      <Table
        label="Open invitations"
        head={
          <>
            <th scope="col">For</th>
            <th scope="col">Made by</th>
            <th scope="col">Runs out</th>
            <th scope="col">
              <span class="hidden">Cancel</span>
            </th>
          </>
        }
      >
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <th scope="row">{invitation.note}</th>
            <td>{invitation.created_by}</td>
            <td>
              <Moment at={invitation.expires_at} />
            </td>
            <td>
              <Form action={`${base}/invitations/${invitation.id}/cancel`}>
                <button type="submit" class="small quiet-button">
                  Cancel<span class="hidden"> the invitation for {invitation.note}</span>
                </button>
              </Form>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** The page that shows an invitation's link, this once. */
function InvitationShown({ base, link, note }: { base: string; link: string; note: string }) {
  return (
    <section data-replace={base}>
      <h2>Invitation for {note}</h2>
      <Notice kind="warn">
        <strong>Copy the link now: it is shown this once.</strong> Who has it can join: send it to one person,
        in private.
      </Notice>
      <CopyBox id="link" label="Invitation link" text={link} />
      <p>It works once, within seven days.</p>
      <p>
        <a class="button" href={base}>
          I have copied it
        </a>
      </p>
    </section>
  );
}
