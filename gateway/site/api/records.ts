import type { KeyInputs } from '../../keys/inputs.js';
import { noticeTypes } from '../../notices/notice.js';
import { noticeInput } from '../../notices/store.js';
import { createUsageInput } from '../../usage/report.js';
import { type ApiRoute, defineRoute } from './route.js';
import {
  all,
  described,
  listOf,
  nextSchema,
  nullableText,
  ref,
  shape,
  stringSchema,
  timeSchema,
} from './shapes.js';

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
    defineRoute('GET /api/audit', 'readAudit', {
      summary: 'Who did what to which key or tenant, newest first.',
      query: inputs.audit,
      data: shape({ entries: listOf(ref('AuditEntry')), next: nextSchema }),
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

export const recordShapes = {
  UsageRow: {
    ...shape({
      day: { type: 'string', format: 'date', description: 'UTC.' },
      key: described(stringSchema, "The key's id."),
      service: stringSchema,
      ...all({ type: 'integer', minimum: 0 }, 'calls', 'errors', 'bytes_in', 'bytes_out'),
      cpu_ms: { type: 'number', minimum: 0 },
    }),
    // Errors by class come with them where the gateway counts them.
    additionalProperties: { type: 'number' },
  },
  AuditEntry: shape({
    id: { type: 'integer' },
    at: timeSchema,
    ...all(stringSchema, 'actor', 'action'),
    ...all(nullableText, 'tenant_id', 'key_id'),
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
