import type { AuditView } from '../../keys/model.js';
import {
  forOperator,
  forTenantOperator,
  getRoute,
  type PageRequest,
  type PageRoute,
  readList,
} from '../page.js';
import { TenantFrame } from './document.js';
import { Empty, Moment, NextPage, Table } from './elements.js';

const entriesShown = 100;

const actionTexts: Record<AuditView['action'], string> = {
  'tenant.create': 'created the tenant',
  'tenant.limits': 'changed limits',
  'tenant.webhook_secret': 'was shown the webhook secret',
  'tenant.rotate_webhook_secret': 'replaced the webhook secret',
  'key.issue': 'issued a key',
  'key.rotate': 'rotated a key',
  'key.end_grace': 'ended the grace of a key',
  'key.revoke': 'revoked a key',
  'key.signing_secret': 'was shown the signing secret of a key',
  'key.rotate_signing': 'replaced the signing secret of a key',
  'member.invite': 'invited',
  'member.cancel_invite': 'cancelled an invitation',
  'member.join': 'joined',
  'member.remove': 'removed',
  'account.sign_in': 'signed in',
  'account.sign_in_failed': 'failed to sign in',
  'account.change_password': 'changed their password',
  'account.connect': 'connected an account',
  'operator.reset': 'reset the password of an operator',
};

/** Who did what to which key: of all tenants, and of one. */
export const auditPages: PageRoute[] = [
  getRoute(forOperator, '/audit', async (call) => {
    const { entries, next } = await readAudit(call);
    const ids = entries.map(({ tenant_id }) => tenant_id).filter((id) => id !== null);
    const names = await call.site.people.tenantNames([...new Set(ids)]);
    return {
      title: 'Audit',
      body: (
        <>
          <h1>Audit</h1>
          <AuditTable entries={entries} tenantOf={({ tenant_id }) => names.get(tenant_id ?? '')} showTenant />
          <NextPage href={next === null ? null : `/audit?before=${next}`} />
        </>
      ),
    };
  }),
  getRoute(forTenantOperator, '/tenants/:tenant/audit', async (call) => {
    const { name } = call.tenant;
    const { entries, next } = await readAudit(call, name);
    return {
      title: `Audit of ${name}`,
      body: (
        <TenantFrame name={name}>
          <h2>Audit</h2>
          <AuditTable entries={entries} tenantOf={() => name} />
          <NextPage href={next === null ? null : `/tenants/${name}/audit?before=${next}`} />
        </TenantFrame>
      ),
    };
  }),
];

function readAudit({ site, query }: PageRequest, tenant?: string) {
  const text = query.get('before');
  const asked = site.admin.inputs.audit.coerce(text === undefined ? new Map() : new Map([['before', text]]));
  return readList(() => site.admin.audit({ ...asked, tenant, limit: entriesShown }));
}

function AuditTable(props: {
  entries: readonly AuditView[];
  tenantOf: (entry: AuditView) => string | undefined;
  showTenant?: boolean;
}) {
  const { entries, tenantOf, showTenant } = props;
  if (entries.length === 0) {
    return (
      <Empty title="Nothing here">
        <p>Every change to tenants, keys and members is noted here, with who made it, and every sign-in.</p>
      </Empty>
    );
  }
  return (
    <Table
      label="Audit log, newest first"
      head={
        <>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">Who</th>
          {showTenant && <th scope="col">Tenant</th>}
          <th scope="col">Detail</th>
        </>
      }
    >
      {entries.map((entry) => {
        const tenant = tenantOf(entry);
        return (
          <tr key={entry.id}>
            <td>
              <Moment at={entry.at} />
            </td>
            <td class="action">
              {actionTexts[entry.action] ?? entry.action}
              {entry.key_id && (
                <>
                  <br />
                  <KeyLink tenant={tenant} id={entry.key_id} />
                </>
              )}
            </td>
            <td class="actor">{entry.actor.replace(/^(user|address):/, '')}</td>
            {showTenant && (
              <td class="name">{tenant ? <a href={`/tenants/${tenant}`}>{tenant}</a> : <NoTenant />}</td>
            )}
            <td class="detail">{detailText(entry.detail)}</td>
          </tr>
        );
      })}
    </Table>
  );
}

function NoTenant() {
  return <span class="quiet">–</span>;
}

function KeyLink({ tenant, id }: { tenant: string | undefined; id: string }) {
  const code = <code>{id}</code>;
  return tenant ? <a href={`/tenants/${tenant}/keys/${id}`}>{code}</a> : code;
}

function detailText(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`,
    )
    .join(' · ');
}
