import { GatewayError } from '../../errors.js';
import type { AuditView } from '../../keys/views.js';
import { type PageAnswer, type PageCall, type PageRoute, tenantOf } from '../page.js';
import { Empty, Moment, Next, Table } from './parts.js';
import { TenantFrame } from './tenant-frame.js';

const PAGE = 100;

const said: Record<AuditView['action'], string> = {
  'tenant.create': 'created the tenant',
  'tenant.limits': 'changed limits',
  'key.issue': 'issued a key',
  'key.rotate': 'rotated a key',
  'key.end_grace': 'ended the grace of a key',
  'key.revoke': 'revoked a key',
  'member.invite': 'invited',
  'member.cancel_invite': 'cancelled an invitation',
  'member.join': 'joined',
  'member.remove': 'removed',
};

/** Who did what to which key: of all tenants, and of one. */
export const auditPages: PageRoute[] = [
  {
    method: 'GET',
    path: '/audit',
    access: 'operator',
    async run(call) {
      const { entries, next } = await read(call);
      const ids = entries.map(({ tenant_id }) => tenant_id).filter((id) => id !== null);
      const names = await call.site.people.tenantNames([...new Set(ids)]);
      return {
        title: 'Audit',
        body: (
          <>
            <h1>Audit</h1>
            <AuditTable
              entries={entries}
              tenantOf={({ tenant_id }) => names.get(tenant_id ?? '')}
              showTenant
            />
            <Next href={next === null ? null : `/audit?before=${next}`} />
          </>
        ),
      };
    },
  },
  {
    method: 'GET',
    path: '/tenants/:tenant/audit',
    access: 'operator',
    async run(call): Promise<PageAnswer> {
      const { name } = tenantOf(call);
      const { entries, next } = await read(call, name);
      return {
        title: `Audit of ${name}`,
        body: (
          <TenantFrame name={name}>
            <h2>Audit</h2>
            <AuditTable entries={entries} tenantOf={() => name} />
            <Next href={next === null ? null : `/tenants/${name}/audit?before=${next}`} />
          </TenantFrame>
        ),
      };
    },
  },
];

function read({ site, query }: PageCall, tenant?: string) {
  const before = query.get('before');
  if (before !== undefined && !/^\d{1,15}$/.test(before)) throw new GatewayError('not_found');
  return site.admin.audit({ tenant, before: before === undefined ? undefined : Number(before), limit: PAGE });
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
        <p>Every change to tenants, keys and members is noted here, with who made it.</p>
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
            <td>
              {said[entry.action] ?? entry.action}
              {entry.key_id && (
                <>
                  <br />
                  <KeyLink tenant={tenant} id={entry.key_id} />
                </>
              )}
            </td>
            <td>{entry.actor.replace(/^user:/, '')}</td>
            {showTenant && (
              <td class="name">{tenant ? <a href={`/tenants/${tenant}`}>{tenant}</a> : <None />}</td>
            )}
            <td class="detail">{detailText(entry.detail)}</td>
          </tr>
        );
      })}
    </Table>
  );
}

function None() {
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
