import { timeOf } from '../../keys/audit-text.js';
import { isTenantName } from '../../keys/schemas.js';
import { requestColumns } from '../../usage/csv.js';
import { get, type PageCall } from '../page.js';
import { formatCount, formatDuration, Moment, useAddress } from './elements.js';
import { recordPage } from './filters.js';

/** The last calls of a tenant, and of all. */
export const requestPages = [
  get.tenant('/tenants/:tenant/requests', (call) => requestsPage(call, call.tenant.name)),
  get.operator('/requests', (call) => requestsPage(call)),
];

function requestsPage(call: PageCall, tenant?: string) {
  const { reports } = call.site;
  const { most, ttlSeconds } = reports.requestLimits;
  return recordPage(call, tenant, {
    title: 'Requests',
    lead: `The last ${formatCount(most)} calls of ${tenant === undefined ? 'each' : 'this'} tenant within ${timeOf(ttlSeconds)}.`,
    filters: [
      { name: 'request_id', label: 'Request id' },
      { name: 'tenant', label: 'Tenant' },
      { name: 'status', label: 'Status', options: [['', 'Any'], ...statuses] },
      { name: 'code', label: 'Code' },
      { name: 'service', label: 'Helper' },
      { name: 'key', label: 'Key id' },
    ],
    async read(query, limit) {
      const { requests: rows, ...cursors } = await reports.requests({ ...query, limit });
      return { rows, ...cursors };
    },
    csvColumns: requestColumns,
    columns: [
      { head: 'When', cell: ({ at }) => <Moment at={at} /> },
      tenant === undefined && {
        head: 'Tenant',
        cell: (row) => linkOf(row.tenant, `/tenants/${row.tenant}/requests`, row.tenant),
      },
      {
        head: 'Helper',
        class: 'wraps',
        cell: ({ service }) => <FilterLink name="service" value={service} />,
      },
      {
        head: 'Status',
        class: 'wraps',
        cell: ({ status, code, dryrun }) => (
          <>
            <span class={`state ${status < 400 ? 'good' : status < 500 ? 'warn' : 'bad'}`}>{status}</span>{' '}
            {code !== 'ok' && <FilterLink name="code" value={code} />} {dryrun && 'dry run'}
          </>
        ),
      },
      { head: 'Time', number: true, priority: 2, cell: ({ ms }) => formatDuration(ms) },
      {
        head: 'Key',
        priority: 2,
        cell: (row) => linkOf(row.tenant, `/keys/${row.key}`, row.label ?? row.key),
      },
      {
        head: 'Request id',
        priority: 3,
        class: 'wraps',
        cell: ({ request_id }) => <code>{request_id}</code>,
      },
    ],
    none: {
      title: 'No requests yet',
      text:
        most === 0
          ? 'HELPER_REQUESTS is 0: this gateway stores no requests.'
          : 'A call shows here within five seconds. Inputs and keys are never stored, and calls without a valid key are not either.',
    },
  });
}

/** A tenant that was deleted has no pages. */
const linkOf = (tenant: string, href: string, text: string) =>
  isTenantName(tenant) ? <a href={href}>{text}</a> : text;

const statuses = ['2xx', '4xx', '429', '5xx'].map((status) => [status, status] as const);

/** A value that chooses the rows that have it. */
function FilterLink({ name, value }: { name: string; value: string }) {
  return <a href={useAddress({ [name]: value })}>{value}</a>;
}
