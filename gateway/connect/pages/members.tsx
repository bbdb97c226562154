import type { ComponentChild } from 'preact';
import { GatewayError } from '../../errors.js';
import { isLine } from '../../keys/checks.js';
import type { AuditAction } from '../../keys/model.js';
import {
  actorOf,
  emptyForm,
  type FormState,
  formState,
  type PageAnswer,
  type PageCall,
  type PageRoute,
  tenantOf,
  userOf,
} from '../page.js';
import { InvitationShown, PeopleView } from './people.js';
import { TenantFrame } from './tenant-frame.js';

interface Group {
  path: string;
  /** Null: the operators. */
  tenantOf: (call: PageCall) => { id: string; name: string } | null;
}

const members: Group = { path: '/tenants/:tenant/members', tenantOf };
const operators: Group = { path: '/operators', tenantOf: () => null };

/** Who belongs to a tenant, and who are operators: two groups of people with the same pages. */
export const memberPages: PageRoute[] = [members, operators].flatMap((group) => pagesOf(group));

function pagesOf(group: Group): PageRoute[] {
  const access = 'operator';
  return [
    { method: 'GET', path: group.path, access, run: (call) => groupPage(group, call, emptyForm) },
    {
      method: 'POST',
      path: `${group.path}/invitations`,
      access,
      once: true,
      run: (call) => invite(group, call),
    },
    {
      method: 'POST',
      path: `${group.path}/invitations/:invitation/cancel`,
      access,
      async run(call) {
        const id = call.params.invitation ?? '';
        const cancelled = await call.site.invitations.cancel(group.tenantOf(call)?.id ?? null, id);
        if (cancelled) await note(group, call, 'member.cancel_invite', { invitation: id });
        return { redirect: baseOf(group, call) };
      },
    },
    {
      method: 'POST',
      path: `${group.path}/:user/remove`,
      access,
      async run(call) {
        await remove(group, call, call.params.user ?? '');
        return { redirect: baseOf(group, call) };
      },
    },
  ];
}

async function invite(group: Group, call: PageCall): Promise<PageAnswer> {
  const { site, form } = call;
  const text = (form.get('note') ?? '').trim();
  if (text === '' || !isLine(text, 100)) {
    const problem = 'must be 1 to 100 characters without control characters';
    const error = new GatewayError('invalid_input', { details: [{ field: 'note', problem }] });
    return { ...(await groupPage(group, call, formState(error, form, 'note'))), status: 400 };
  }
  const tenant = group.tenantOf(call);
  const created_by = userOf(call).user.email;
  const { token } = await site.invitations.invite({ tenant_id: tenant?.id ?? null, note: text, created_by });
  await note(group, call, 'member.invite', { note: text });
  const link = `${site.baseUrl.replace(/\/$/, '')}/join/${token}`;
  const shown = <InvitationShown base={baseOf(group, call)} link={link} note={text} />;
  return { title: 'Invitation', body: framed(tenant, shown) };
}

async function remove(group: Group, call: PageCall, userId: string): Promise<void> {
  const { people } = call.site;
  const tenant = group.tenantOf(call);
  const all = tenant ? await people.members(tenant.id) : await people.operators();
  const person = all.find(({ id }) => id === userId);
  if (!person) throw new GatewayError('not_found', { message: 'This person is not here any more.' });
  const removed = tenant ? await people.removeMember(tenant.id, userId) : await people.removeOperator(userId);
  if (!removed) throw new GatewayError('forbidden', { message: 'The last operator cannot be removed.' });
  await note(group, call, 'member.remove', { email: person.email });
}

async function note(group: Group, call: PageCall, action: AuditAction, detail: Record<string, unknown>) {
  const tenant_id = group.tenantOf(call)?.id ?? null;
  const entry = { at: call.site.now(), actor: actorOf(call), action, tenant_id, key_id: null };
  const whole = tenant_id === null ? { ...detail, operator: true } : detail;
  await call.site.store.change((tx) => tx.audit({ ...entry, detail: whole }));
}

async function groupPage(group: Group, call: PageCall, state: FormState): Promise<PageAnswer> {
  const { people, invitations } = call.site;
  const tenant = group.tenantOf(call);
  const persons = tenant ? await people.members(tenant.id) : await people.operators();
  const view = (
    <>
      {tenant ? <h2>Members</h2> : <h1>Operators</h1>}
      <p class="lead">
        {tenant
          ? 'Members issue and rotate the keys of this tenant and see its usage; of other tenants they see nothing.'
          : 'Operators manage every tenant, key and limit.'}
      </p>
      <PeopleView
        base={baseOf(group, call)}
        role={tenant ? 'member' : 'operator'}
        people={persons}
        invitations={await invitations.open(tenant?.id ?? null)}
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

function baseOf(group: Group, call: PageCall): string {
  return group.path.replace(':tenant', group.tenantOf(call)?.name ?? '');
}
