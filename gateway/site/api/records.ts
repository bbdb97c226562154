import type { KeyInputs } from '../../keys/inputs.js';
import { noticeTypes } from '../../notices/notice.js';
import { noticeInput } from '../../notices/store.js';
import { auditColumns, requestColumns, usageColumns } from '../../usage/csv.js';
import { createUsageInput } from '../../usage/report.js';
import { createRequestInput } from '../../usage/requests.js';
import { countColumns } from '../../usage/store.js';
import { createSumsInput, dimensions } from '../../usage/sums.js';
import { type ApiRoute, defineRoute } from './route.js';
import {
  all,
  countSchema,
  described,
  listOf,
  nextSchema,
  nullableText,
  ref,
  shape,
  stringSchema,
  timeSchema,
} from './shapes.js';

const previousSchema = { ...nextSchema, description: 'Of the page before; null on the first.' };
const cursors = { next: nextSchema, previous: previousSchema };

/** What was called, and what was changed. */
export function recordRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('GET /api/tenants/:name/usage', 'readUsage', {
      summary: "A tenant's usage by day, key and helper, newest day first; at most 5 seconds behind.",
      query: createUsageInput(),
      data: shape({ usage: listOf(ref('UsageRow')), next: nextSchema }),
      async run({ site, params, query }) {
        const { id } = await site.admin.tenant(params.name ?? '');
        const { rows, next = null } = await site.usage(id, query);
        return { usage: rows, next };
      },
    }),
    defineRoute('GET /api/usage', 'sumUsage', {
      summary: 'Usage by one or two of day, tenant, key, helper, outcome and code; at most 20,000 rows.',
      query: createSumsInput(),
      data: shape({ usage: listOf(ref('UsageSums')) }),
      csv: { list: 'usage', columns: ({ by }) => usageColumns(by) },
      run: async ({ site, query }) => ({ usage: await site.reports.usage(query) }),
    }),
    defineRoute('GET /api/requests', 'listRequests', {
      summary: 'The last calls, newest first; at most 5 seconds behind.',
      query: createRequestInput(),
      data: shape({ requests: listOf(ref('Request')), ...cursors }),
      csv: { list: 'requests', columns: () => requestColumns },
      run: ({ site, query }) => site.reports.requests(query),
    }),
    defineRoute('GET /api/audit', 'readAudit', {
      summary: 'Who did what to which key or tenant, newest first.',
      query: inputs.audit,
      data: shape({ entries: listOf(ref('AuditEntry')), ...cursors }),
      csv: { list: 'entries', columns: () => auditColumns },
      run: ({ site, query }) => site.admin.audit(query),
    }),
    defineRoute('GET /api/notices', 'listNotices', {
      summary: 'Limits of a month that run out, keys that expire and webhooks that fail, newest first.',
      query: noticeInput,
      data: shape({ notices: listOf(ref('Notice')), next: nextSchema }),
      async run({ site, query: { tenant, ...query } }) {
        const of = tenant === undefined ? undefined : await site.admin.tenant(tenant);
        return site.notices.list(query, of?.id);
      },
    }),
  ];
}

const milliseconds = { type: ['number', 'null'], minimum: 0 } as const;

export const recordShapes = {
  UsageRow: shape({
    day: { type: 'string', format: 'date', description: 'UTC.' },
    key: described(stringSchema, "The key's id."),
    service: stringSchema,
    ...all(countSchema, 'errors', ...countColumns),
    cpu_ms: { type: 'number', minimum: 0 },
  }),
  UsageSums: shape(
    {
      ...all(stringSchema, ...dimensions),
      label: described(nullableText, "The key's."),
      ...all(countSchema, 'calls', 'errors', 'bytes_in', 'bytes_out'),
      cpu_ms: { type: 'number', minimum: 0 },
      ...all(described(milliseconds, 'Null where no durations were counted.'), 'p50_ms', 'p95_ms'),
    },
    [...dimensions, 'label'],
  ),
  Request: shape({
    at: timeSchema,
    ...all(stringSchema, 'request_id', 'tenant', 'key', 'service'),
    label: described(nullableText, "The key's."),
    status: countSchema,
    code: described(stringSchema, "The error's, or `ok`."),
    ms: { type: 'number', minimum: 0 },
    dryrun: { type: 'boolean' },
  }),
  AuditEntry: shape({
    id: { type: 'integer' },
    at: timeSchema,
    ...all(stringSchema, 'actor', 'action'),
    ...all(nullableText, 'tenant_id', 'tenant', 'key_id'),
    text: described(stringSchema, 'What was done, as a sentence without its actor.'),
    detail: { type: 'object' },
  }),
  Notice: shape({
    id: { type: 'integer' },
    at: timeSchema,
    type: { type: 'string', enum: [...noticeTypes] },
    tenant: described(nullableText, "Its name; null for the operator's own, and where it was deleted."),
    text: described(stringSchema, 'What happened.'),
    data: described({ type: 'object' }, 'As in the webhook.'),
  }),
};
