import type { AuditView } from '../../keys/model.js';
import { get, type PageCall, readList } from '../page.js';
import { Page } from './document.js';
import { Empty, Moment, Table } from './elements.js';
import { Pager } from './lists.js';

const entriesShown = 100;

const actionTexts: Record<AuditView['action'], string> = {
  'tenant.create': 'created the tenant',
  'tenant.limits': 'changed limits',
  'tenant.webhook_secret': 'was shown the webhook secret',
  'tenant.rotate_webhook_secret': 'replaced the webhook secret',
  'tenant.edit': 'edited the tenant',
  'tenant.rename': 'renamed the tenant',
  'tenant.suspend': 'suspended the tenant',
  'tenant.resume': 'resumed the tenant',
  'tenant.delete': 'deleted the tenant',
  'plan.put': 'saved a plan',
  'plan.delete': 'deleted a plan',
  'key.edit': 'edited a key',
  'key.pause': 'paused a key',
  'key.resume': 'resumed a key',
  'key.issue': 'issued a key',
  'key.rotate': 'rotated a key',
  'key.end_grace': 'ended the grace of a key',
  'key.revoke': 'revoked a key',
  'key.signing_secret': 'was shown the signing secret of a key',
  'key.rotate_signing': 'replaced the signing secret of a key',
  'recipe.put': 'saved a recipe',
  'recipe.delete': 'deleted a recipe',
  'member.invite': 'invited',
  'member.cancel_invite': 'cancelled an invitation',
  'member.join': 'joined',
  'member.remove': 'removed',
  'member.role': 'changed the role of',
  'account.sign_in': 'signed in',
  'account.sign_in_failed': 'failed to sign in',
  'account.change_password': 'changed their password',
  'account.connect': 'connected an account',
  'account.end_session': 'ended a session of their own',
  'account.recovery_code': 'used a recovery code',
  'account.rename': 'changed their name or e-mail',
  'account.second_factor': 'changed a second factor',
  'token.create': 'made an API token',
  'token.revoke': 'revoked an API token',
  'operator.reset': 'reset the password of an operator',
  'operator.notices_secret': "was shown the secret of the operator's notices",
};

/** The audit log: of all tenants, and of one. */
export const auditPages = [
  get.operator('/audit', (call) => auditPage(call)),
  get.tenantOperator('/tenants/:tenant/audit', (call) => auditPage(call, call.tenant.name)),
];

async function auditPage({ site, query }: PageCall, tenant?: string) {
  const before = query.get('after');
  const cursor = site.admin.inputs.audit.coerce(new Map(before === undefined ? [] : [['before', before]]));
  const { entries, next } = await readList(() =>
    site.admin.audit({ ...cursor, tenant, limit: entriesShown }),
  );
  const ids = new Set(tenant === undefined ? entries.flatMap(({ tenant_id }) => tenant_id ?? []) : []);
  const names = await site.people.tenantNames([...ids]);
  const tenantOf = ({ tenant_id }: AuditView) => tenant ?? names.get(tenant_id ?? '');
  const tenantColumn = {
    head: 'Tenant',
    class: 'name',
    cell: (entry: AuditView) => <TenantLink name={tenantOf(entry)} />,
  };
  return (
    <Page tenant={tenant} title={tenant === undefined ? 'Audit' : `Audit of ${tenant}`}>
      {tenant !== undefined && <h2>Audit</h2>}
      <Empty of={entries} title="Nothing here">
        Every change to tenants, keys and members is noted here, with who made it, and every sign-in.
      </Empty>
      <Table
        label="Audit log, newest first"
        rows={entries}
        columns={[
          { head: 'When', cell: ({ at }) => <Moment at={at} /> },
          {
            head: 'What',
            class: 'action',
            cell: (entry) => <Action entry={entry} tenant={tenantOf(entry)} />,
          },
          { head: 'Who', class: 'actor', cell: ({ actor }) => actor.replace(/^(user|address):/, '') },
          ...(tenant === undefined ? [tenantColumn] : []),
          { head: 'Detail', class: 'detail', cell: ({ detail }) => detailText(detail) },
        ]}
      />
      <Pager next={next === null ? null : String(next)} />
    </Page>
  );
}

function TenantLink({ name }: { name: string | undefined }) {
  return name ? <a href={`/tenants/${name}`}>{name}</a> : <span class="quiet">–</span>;
}

function Action({ entry: { action, key_id }, tenant }: { entry: AuditView; tenant: string | undefined }) {
  const key = <code>{key_id}</code>;
  return (
    <>
      {actionTexts[action] ?? action}
      {key_id && (
        <>
          <br />
          {tenant ? <a href={`/tenants/${tenant}/keys/${key_id}`}>{key}</a> : key}
        </>
      )}
    </>
  );
}

function detailText(detail: Record<string, unknown>): string {
  const text = (value: unknown) => (Array.isArray(value) ? value.join(', ') || 'none' : value);
  return Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${text(value)}`)
    .join(' · ');
}
