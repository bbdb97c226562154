import { auditActions } from '../../keys/audit-text.js';
import type { AuditView } from '../../keys/key-reads.js';
import { isTenantName } from '../../keys/schemas.js';
import { auditColumns } from '../../usage/csv.js';
import { get, type PageCall } from '../page.js';
import { Moment } from './elements.js';
import { recordPage } from './filters.js';

/** The audit log: of all tenants, and of one. */
export const auditPages = [
  get.operator('/audit', (call) => auditPage(call)),
  get.tenantOperator('/tenants/:tenant/audit', (call) => auditPage(call, call.tenant.name)),
];

function auditPage(call: PageCall, tenant?: string) {
  const { admin } = call.site;
  return recordPage(call, tenant, {
    title: 'Audit',
    lead: 'Newest first.',
    filters: [
      { name: 'actor', label: 'Who' },
      { name: 'action', label: 'What', options: [['', 'Anything'], ...actionOptions] },
      { name: 'tenant', label: 'Tenant' },
      { name: 'key', label: 'Key id' },
      { name: 'from', label: 'From', type: 'date' },
      { name: 'to', label: 'To', type: 'date' },
    ],
    async read({ after, before, ...filters }, limit) {
      // A list's address says what is older by `after`; the log's own reading, by `before`.
      const place = { ...(after && { before: after }), ...(before && { after: before }) };
      const asked = admin.inputs.audit.coerce(new Map(Object.entries({ ...filters, ...place })));
      const { entries: rows, ...cursors } = await admin.audit({ ...asked, limit });
      return { rows, ...cursors };
    },
    csvColumns: auditColumns,
    columns: [
      { head: 'When', cell: ({ at }) => <Moment at={at} /> },
      { head: 'Who', class: 'wraps', cell: ({ actor }) => actor.replace(/^(user|address):/, '') },
      { head: 'What', class: 'wraps', cell: (entry) => <What entry={entry} /> },
    ],
    none: {
      title: 'Nothing here',
      text: 'Every change to tenants, keys and members is noted here, with who made it, and every sign-in.',
    },
  });
}

const actionOptions = auditActions.map((action) => [action, action.replaceAll(/[._]/g, ' ')] as const).sort();

/** The entry in words, which lead to what it is about. */
function What({ entry: { text, tenant, key_id } }: { entry: AuditView }) {
  const base = isTenantName(tenant) && `/tenants/${tenant}`;
  const href = base && (key_id ? `/keys/${key_id}` : base);
  return href ? <a href={href}>{text}</a> : <span>{text}</span>;
}
