import { requestColumns, toCsv } from '../../usage/csv.js';
import type { UsageReports } from '../../usage/reports.js';
import { get, type PageCall } from '../page.js';
import { Page } from './document.js';
import { Empty, formatCount, formatDuration, Moment, Notice, Table } from './elements.js';
import { CsvLink, FilterForm, FilterLink, filtersOf, readFiltered } from './filters.js';
import { Pager } from './lists.js';

const shown = 50;
const shownAsCsv = 1000;
const filters = ['key', 'service', 'status', 'code', 'request_id', 'from', 'to', 'after', 'before'];

/** The last calls of a tenant, and of all. */
export const requestPages = [
  get.tenant('/tenants/:tenant/requests', (call) => requestsPage(call, call.tenant.name)),
  get.operator('/requests', (call) => requestsPage(call)),
];

type Request = Awaited<ReturnType<UsageReports['requests']>>['requests'][number];

async function requestsPage({ site: { reports }, query }: PageCall, tenant?: string) {
  const csv = query.get('format') === 'csv';
  const given = filtersOf(query, tenant === undefined ? [...filters, 'tenant'] : filters);
  const { found, problem } = await readFiltered(() =>
    reports.requests({
      ...Object.fromEntries(given),
      ...(tenant !== undefined && { tenant }),
      limit: csv ? shownAsCsv : shown,
    }),
  );
  const { requests = [], next = null, previous = null } = found ?? {};
  if (csv && found) return { csv: { name: 'requests', text: toCsv(requestColumns, requests) } };
  const { most, ttlSeconds } = reports.requestLimits;
  const page = (
    <Page tenant={tenant} title={tenant === undefined ? 'Requests' : `Requests of ${tenant}`}>
      <div class="heading">
        {tenant === undefined ? null : <h2>Requests</h2>}
        <p class="quiet">
          The last {formatCount(most)} calls of {tenant === undefined ? 'each tenant' : 'this tenant'} within{' '}
          {Math.round(ttlSeconds / 3600)} hours. <CsvLink />
        </p>
      </div>
      <FilterForm
        label="Which requests"
        filters={[
          { name: 'request_id', label: 'Request id' },
          ...(tenant === undefined ? [{ name: 'tenant', label: 'Tenant' }] : []),
          { name: 'status', label: 'Status', options: statuses },
          { name: 'code', label: 'Code' },
          { name: 'service', label: 'Helper' },
          { name: 'key', label: 'Key id' },
        ]}
      />
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Empty
        of={problem ? [problem] : requests}
        title={given.size > 0 ? 'No such request' : 'No requests yet'}
      >
        {most === 0
          ? 'HELPER_REQUESTS is 0: this gateway stores no requests.'
          : 'A call shows here within five seconds. Inputs and keys are never stored, and calls without a valid key are not either.'}
      </Empty>
      <Table label="Requests, newest first" rows={requests} columns={columnsFor(tenant)} />
      <Pager previous={previous} next={next} />
    </Page>
  );
  return problem ? { page, status: 400 } : page;
}

const statuses = [
  ['', 'Any'],
  ['2xx', '2xx'],
  ['4xx', '4xx'],
  ['429', '429'],
  ['5xx', '5xx'],
] as const;

function columnsFor(tenant: string | undefined) {
  const keyName = ({ key, label }: Request) => label ?? key;
  return [
    { head: 'When', cell: ({ at }: Request) => <Moment at={at} /> },
    ...(tenant === undefined
      ? [
          {
            head: 'Tenant',
            cell: ({ tenant }: Request) => <a href={`/tenants/${tenant}/requests`}>{tenant}</a>,
          },
        ]
      : []),
    {
      head: 'Helper',
      class: 'wraps',
      cell: ({ service }: Request) => <FilterLink name="service" value={service} />,
    },
    {
      head: 'Status',
      class: 'wraps',
      cell: ({ status, code, dryrun }: Request) => (
        <>
          <span class={`state ${status < 400 ? 'good' : status < 500 ? 'warn' : 'bad'}`}>{status}</span>{' '}
          {code !== 'ok' && <FilterLink name="code" value={code} />} {dryrun && 'dry run'}
        </>
      ),
    },
    { head: 'Time', number: true, priority: 2 as const, cell: ({ ms }: Request) => formatDuration(ms) },
    {
      head: 'Key',
      priority: 2 as const,
      cell: (request: Request) => (
        <a href={`/tenants/${request.tenant}/keys/${request.key}`}>{keyName(request)}</a>
      ),
    },
    {
      head: 'Request id',
      priority: 3 as const,
      class: 'wraps',
      cell: ({ request_id }: Request) => <code>{request_id}</code>,
    },
  ];
}
