import type { AuditView } from '../../keys/audit-log.js';
import { auditActions } from '../../keys/audit-text.js';
import { isTenantName } from '../../keys/schemas.js';
import { auditColumns, toCsv } from '../../usage/csv.js';
import { get, type PageCall } from '../page.js';
import { Page } from './document.js';
import { Empty, Moment, Notice, Table } from './elements.js';
import { CsvLink, FilterForm, filtersOf, readFiltered } from './filters.js';
import { Pager } from './lists.js';

const entriesShown = 50;
const entriesAsCsv = 1000;

/** The audit log: of all tenants, and of one. */
export const auditPages = [
  get.operator('/audit', (call) => auditPage(call)),
  get.tenantOperator('/tenants/:tenant/audit', (call) => auditPage(call, call.tenant.name)),
];

async function auditPage({ site: { admin }, query }: PageCall, tenant?: string) {
  const csv = query.get('format') === 'csv';
  const given = filtersOf(query, ['actor', 'action', 'tenant', 'key', 'from', 'to']);
  // A list's address says what is older by `after`; the log's own reading, by `before`.
  const place = [
    ['before', query.get('after')],
    ['after', query.get('before')],
  ].flatMap(([name, id]) => (name && id ? [[name, id] as const] : []));
  const asked = admin.inputs.audit.coerce(new Map([...given, ...place]));
  const { found, problem } = await readFiltered(() =>
    admin.audit({
      ...asked,
      ...(tenant !== undefined && { tenant }),
      limit: csv ? entriesAsCsv : entriesShown,
    }),
  );
  const { entries = [], next = null, previous = null } = found ?? {};
  if (csv && found) return { csv: { name: 'audit', text: toCsv(auditColumns, entries) } };
  const page = (
    <Page tenant={tenant} title={tenant === undefined ? 'Audit' : `Audit of ${tenant}`}>
      <div class="heading">
        {tenant === undefined ? null : <h2>Audit</h2>}
        <p class="quiet">
          Newest first. <CsvLink />
        </p>
      </div>
      <FilterForm
        label="Which entries"
        filters={[
          { name: 'actor', label: 'Who' },
          { name: 'action', label: 'What', options: [['', 'Anything'], ...actionOptions] },
          ...(tenant === undefined ? [{ name: 'tenant', label: 'Tenant' }] : []),
          { name: 'key', label: 'Key id' },
          { name: 'from', label: 'From', type: 'date' },
          { name: 'to', label: 'To', type: 'date' },
        ]}
      />
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Empty of={problem ? [problem] : entries} title={given.size > 0 ? 'No such entry' : 'Nothing here'}>
        Every change to tenants, keys and members is noted here, with who made it, and every sign-in.
      </Empty>
      <Table
        label="Audit log, newest first"
        rows={entries}
        columns={[
          { head: 'When', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Who', class: 'wraps', cell: ({ actor }) => actor.replace(/^(user|address):/, '') },
          { head: 'What', class: 'wraps', cell: (entry) => <What entry={entry} /> },
        ]}
      />
      <Pager previous={textOf(previous)} next={textOf(next)} />
    </Page>
  );
  return problem ? { page, status: 400 } : page;
}

const textOf = (id: number | null) => (id === null ? null : String(id));

const actionOptions = auditActions.map((action) => [action, action.replaceAll(/[._]/g, ' ')] as const).sort();

/** The entry in words, which lead to what it is about. */
function What({ entry: { text, tenant, key_id } }: { entry: AuditView }) {
  const base = isTenantName(tenant) && `/tenants/${tenant}`;
  const href = base && (key_id ? `${base}/keys/${key_id}` : base);
  return href ? <a href={href}>{text}</a> : <span>{text}</span>;
}
