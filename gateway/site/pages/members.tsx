import { useContext } from 'preact/hooks';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError } from '../../errors.js';
import type { Group } from '../accounts/account.js';
import { maxNote } from '../accounts/member-admin.js';
import { type People, type Person, rolesOf } from '../accounts/people.js';
import { formState, get, post, postOnce, refused, type TenantCall, type UserCall } from '../page.js';
import type { InvitationRow, Role } from '../tables.js';
import { ConfirmPage } from './confirm.js';
import { Page, ShownPage } from './document.js';
import {
  Changes,
  Choices,
  type Column,
  CopyBox,
  Empty,
  Field,
  Form,
  Moment,
  Notice,
  Table,
  ViewContext,
} from './elements.js';
import { Pager, readListQuery, SearchForm } from './lists.js';

const staffPath = '/people';

export const roleNames: Record<Role, string> = {
  operator: 'Operator',
  support: 'Support',
  member: 'Member',
  viewer: 'Viewer',
};

export const roleTexts: Record<Role, string> = {
  operator: 'Operators manage every tenant, key, limit and person.',
  support: 'Support staff read everything. They change nothing and see no secret.',
  member: 'Members manage the keys, recipes and jobs of their tenant and see its usage.',
  viewer: 'Viewers read the pages of their tenant. They change nothing and see no secret.',
};

/** The people of a tenant, and the site's staff: two groups with the same pages. */
export const memberPages = [
  ...(
    [
      [get, '', groupPage],
      [postOnce, '/invitations', invite],
      [post, '/invitations/:invitation/cancel', cancelInvitation],
      [post, '/:user/role', setRole],
      [get, '/:user/remove', confirmRemovePage],
      [post, '/:user/remove', removePerson],
      [get, '/:user/second-factor', confirmEndFactorPage],
      [post, '/:user/second-factor', endFactor],
    ] as const
  ).flatMap(([method, path, run]) => [
    method.tenantOperator(`/tenants/:tenant/members${path}`, (call) => run(ofTenant(call))),
    method.operator(`${staffPath}${path}`, (call) => run(ofStaff(call))),
  ]),
  get.operator('/operators', async () => ({ redirect: staffPath })),
];

/** A call of a page of one of the groups; of the staff it has no tenant. */
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

function ofStaff(call: UserCall): GroupCall {
  return { ...call, group: null, base: staffPath };
}

async function invite(call: GroupCall) {
  const { site, form, visitor, tenant, group, base } = call;
  try {
    const given = { note: form.get('note') ?? '', role: form.get('role') };
    const { token, note, role } = await site.members.invite(group, given, visitor.user);
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
        <p>It works once, within seven days. Role: {roleNames[role].toLowerCase()}.</p>
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

async function setRole({ site, group, params, form, visitor, base }: GroupCall) {
  await site.members.setRole(group, params.user ?? '', form.get('role') ?? '', visitor.user);
  return { redirect: `${base}?done=role` };
}

async function removePerson({ site, group, params, visitor, base }: GroupCall) {
  await site.members.remove(group, params.user ?? '', visitor.user);
  // Operators who remove themselves may not see the list any more.
  return { redirect: group === null && params.user === visitor.user.id ? '/' : `${base}?done=removed` };
}

async function endFactor({ site, params, visitor, base }: GroupCall) {
  await site.members.endSecondFactor(params.user ?? '', visitor.user);
  return { redirect: `${base}?done=factor` };
}

/** The person of the group in the path. */
async function findPerson({ site, params, group }: GroupCall) {
  const person = (await site.people.of(group)).find(({ id }) => id === params.user);
  if (person) return person;
  throw new GatewayError('not_found', { message: 'This person is not here any more.' });
}

async function confirmRemovePage(call: GroupCall) {
  const { tenant, base } = call;
  const { id, email } = await findPerson(call);
  return (
    <ConfirmPage
      title={`Remove ${email}`}
      tenant={tenant?.name}
      heading={tenant ? `Remove ${email} from ${tenant.name}?` : `Remove ${email} from the staff?`}
      action={`${base}/${id}/remove`}
      button="Remove"
      href={base}
    >
      <p>
        From their next click on they see nothing {tenant ? `of ${tenant.name}` : 'of the tenants'} any more,
        and open invitations that they made end. What they have done stays in the audit log, and{' '}
        {tenant ? 'keys that they issued' : 'API tokens that they made'} go on working. Their account itself
        stays: with a new invitation they can return.
      </p>
    </ConfirmPage>
  );
}

async function confirmEndFactorPage(call: GroupCall) {
  const { tenant, base } = call;
  const { id, email } = await findPerson(call);
  return (
    <ConfirmPage
      title={`Second factor of ${email}`}
      tenant={tenant?.name}
      heading={`End the second factor of ${email}?`}
      action={`${base}/${id}/second-factor`}
      button="End it"
      href={base}
    >
      <p>
        For somebody who has lost their phone and their recovery codes. They sign in with their password alone
        then, and can set up another second factor. Make sure that it is they who ask.
      </p>
    </ConfirmPage>
  );
}

const doneMessages = new Map([
  ['role', 'The role was changed. It holds from their next click on.'],
  ['removed', 'The person was removed.'],
  ['factor', 'The second factor was ended. They sign in with their password alone now.'],
]);

async function groupPage(call: GroupCall) {
  const { site, tenant, group, base, query } = call;
  const [people, invitations, found] = await Promise.all([
    site.people.of(group),
    site.invitations.open(group),
    group === null ? findTenantPeople(call) : undefined,
  ]);
  const q = found?.q.toLowerCase() ?? '';
  const shown = people.filter(({ email, name }) => `${email} ${name.toLowerCase()}`.includes(q));
  const operators = people.filter(({ role }) => role === 'operator');
  const isLast = ({ role }: Person) => role === 'operator' && operators.length === 1;
  const message = doneMessages.get(query.get('done') ?? '');
  return (
    <Page title={tenant ? `Members of ${tenant.name}` : 'People'} tenant={tenant?.name}>
      {message && <Notice kind="good">{message}</Notice>}
      {!tenant && (
        <div class="list-head">
          <SearchForm label="E-mail or name" />
          <a href="/tokens">API tokens</a>
        </div>
      )}
      <h2>{tenant ? 'Members' : 'Staff'}</h2>
      <p class="lead">
        {rolesOf(group)
          .map((role) => roleTexts[role])
          .join(' ')}
      </p>
      <Empty of={people} title="Nobody yet">
        Invite the first one below, and send them the link that you get.
      </Empty>
      <Table
        label="People"
        rows={shown}
        columns={[
          ...personColumns(() => base),
          { head: 'Since', priority: 3, cell: ({ since }) => <Moment at={since} /> },
          {
            head: 'Actions',
            hiddenHead: true,
            cell: (person) =>
              !isLast(person) && <Actions base={base} roles={rolesOf(group)} person={person} />,
          },
        ]}
      />
      {invitations.length > 0 && <OpenInvitations base={base} invitations={invitations} />}
      <Changes>
        <section class="panel">
          <h2>Invite</h2>
          <Form action={`${base}/invitations`} once>
            <Field
              name="note"
              label="For whom"
              required
              maxLength={maxNote}
              hint="So that you know which link is whose. You get a link that works for one person, once, within seven days."
            />
            <Choices
              name="role"
              label="Role"
              value={rolesOf(group)[0]}
              options={rolesOf(group).map((role) => [role, roleNames[role]])}
            />
            <button type="submit">Create invitation link</button>
          </Form>
        </section>
      </Changes>
      {found && <TenantPeople {...found} />}
    </Page>
  );
}

/** Changes a person's role, or removes them; not for the last operator. */
function Actions({ base, roles, person }: { base: string; roles: readonly Role[]; person: Person }) {
  const others = roles.filter((role) => role !== person.role);
  return (
    <Changes>
      <div class="inline">
        {others.map((role) => (
          <Form action={`${base}/${person.id}/role`} key={role}>
            <input type="hidden" name="role" value={role} />
            <button type="submit" class="small quiet-button">
              Make {roleNames[role].toLowerCase()}
              <span class="hidden"> of {person.email}</span>
            </button>
          </Form>
        ))}
        <a class="button small quiet-button" href={`${base}/${person.id}/remove`}>
          Remove…<span class="hidden"> {person.email}</span>
        </a>
      </div>
    </Changes>
  );
}

/** `baseOf` is the path of the page of a person's group. */
function personColumns<P extends Person>(baseOf: (person: P) => string): Column<P>[] {
  return [
    {
      head: 'E-mail',
      rowHead: true,
      class: 'wraps',
      // With the way to end a second factor, on a phone too.
      cell: (person) => (
        <>
          {person.email} {person.second_factor && <EndFactor id={person.id} base={baseOf(person)} />}
        </>
      ),
    },
    { head: 'Name', priority: 3, cell: ({ name }) => name },
    { head: 'Role', cell: ({ role }) => roleNames[role] },
    { head: 'Second factor', priority: 2, cell: ({ second_factor }) => (second_factor ? 'yes' : 'no') },
  ];
}

/** Operators turn off their own under Account, by a code. */
function EndFactor({ id, base }: { id: string; base: string }) {
  const { visitor, mayChange } = useContext(ViewContext);
  if (!mayChange || id === visitor?.user.id) return null;
  return <a href={`${base}/${id}/second-factor`}>End second factor…</a>;
}

type TenantPeopleList = Awaited<ReturnType<People['search']>> & { q: string };

/** The people of all tenants, as the query asks for them. */
async function findTenantPeople({ site, query }: UserCall): Promise<TenantPeopleList> {
  const { q = '', after, before } = readListQuery(query, { by: 'email', order: 'asc' });
  // Other texts are in no row, and not every one may be in a statement.
  if (![q, after ?? '', before ?? ''].every((text) => isLine(text, 400))) throw new GatewayError('not_found');
  return { ...(await site.people.search({ q, after, before })), q };
}

function TenantPeople({ q, people, after, before }: TenantPeopleList) {
  const membersOf = ({ tenant }: { tenant: string }) => `/tenants/${tenant}/members`;
  return (
    <>
      <h2>People of tenants</h2>
      <Empty of={people} title={q ? `“${q}” is in no e-mail or name` : 'Nobody yet'}>
        Members are invited on their tenant’s page.
      </Empty>
      <Table
        label="People of tenants"
        rows={people}
        columns={[
          ...personColumns<TenantPeopleList['people'][number]>(membersOf),
          { head: 'Tenant', cell: (person) => <a href={membersOf(person)}>{person.tenant}</a> },
        ]}
      />
      <Pager previous={before} next={after} />
    </>
  );
}

function OpenInvitations({ base, invitations }: { base: string; invitations: readonly InvitationRow[] }) {
  const cancellation = ({ id, note }: InvitationRow) => (
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
          { head: 'Role', cell: ({ role }) => role && roleNames[role] },
          { head: 'Made by', priority: 2, cell: ({ created_by }) => created_by },
          { head: 'Runs out', cell: ({ expires_at }) => <Moment at={expires_at} /> },
          { head: 'Cancel', hiddenHead: true, cell: cancellation },
        ]}
      />
    </>
  );
}
