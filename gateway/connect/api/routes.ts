import { GatewayError } from '../../errors.js';
import { isKeyId } from '../../keys/checks.js';
import { viewKey } from '../../keys/views.js';
import type { Site } from '../site.js';
import type { Fields } from './field.js';
import {
  auditQuery,
  keyFields,
  keyQuery,
  limitFields,
  rotateFields,
  tenantFields,
  tenantQuery,
  usageQuery,
} from './fields.js';
import { listOf, ref, shape } from './shapes.js';

/** A call of the JSON API whose fields have been judged. */
export interface ApiCall {
  site: Site;
  params: Record<string, string>;
  query: Record<string, string>;
  body: Record<string, unknown>;
}

/** One operation of the JSON API: what it does, and all that its documentation needs. */
export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** `operationId`. */
  name: string;
  summary: string;
  query?: Fields;
  body?: Fields;
  /** JSON Schema of `data`. */
  data: object;
  run: (call: ApiCall) => Promise<object>;
}

const ACTOR = 'api:operator-token';
const next = { type: ['string', 'integer', 'null'], description: 'Of the next page; null on the last.' };

/** The JSON API: what the operator's pages can do, for programs. Each goes by the operator token alone. */
export function apiRoutes(site: Pick<Site, 'services' | 'now'>): ApiRoute[] {
  return [...tenantRoutes, ...keyRoutes(site), ...reportRoutes];
}

const tenantRoutes: ApiRoute[] = [
  {
    method: 'POST',
    path: '/api/tenants',
    name: 'createTenant',
    summary: 'Creates a tenant.',
    body: tenantFields,
    data: ref('Tenant'),
    run: ({ site, body }) => site.admin.createTenant(body.name as string, ACTOR),
  },
  {
    method: 'GET',
    path: '/api/tenants',
    name: 'listTenants',
    summary: 'Lists tenants by name.',
    query: tenantQuery,
    data: shape({ tenants: listOf(ref('Tenant')), next }),
    run: ({ site, query }) => site.admin.listTenants(pageOf(query)),
  },
  {
    method: 'GET',
    path: '/api/tenants/:name',
    name: 'getTenant',
    summary: 'Shows a tenant.',
    data: ref('Tenant'),
    run: ({ site, params }) => site.admin.tenant(params.name ?? ''),
  },
  {
    method: 'PATCH',
    path: '/api/tenants/:name',
    name: 'setLimits',
    summary: "Changes a tenant's limits and weight; what is left out stays.",
    body: limitFields,
    data: ref('Tenant'),
    run: ({ site, params, body }) => site.admin.setLimits(params.name ?? '', body, ACTOR),
  },
];

function keyRoutes(site: Pick<Site, 'services' | 'now'>): ApiRoute[] {
  return [
    {
      method: 'POST',
      path: '/api/tenants/:name/keys',
      name: 'issueKey',
      summary: 'Issues a key; it is in this answer and nowhere else.',
      body: keyFields(site),
      data: ref('IssuedKey'),
      run: ({ site, params, body }) => site.admin.issueKey(params.name ?? '', body, ACTOR),
    },
    {
      method: 'GET',
      path: '/api/tenants/:name/keys',
      name: 'listKeys',
      summary: "Lists a tenant's keys, oldest first, without their secrets.",
      query: keyQuery,
      data: shape({ keys: listOf(ref('Key')), next }),
      run: ({ site, params, query }) => site.admin.listKeys(params.name ?? '', pageOf(query)),
    },
    {
      method: 'GET',
      path: '/api/keys/:id',
      name: 'getKey',
      summary: 'Shows a key without its secrets.',
      data: ref('Key'),
      async run({ site, params: { id = '' } }) {
        const key = isKeyId(id) ? await site.store.key(id) : undefined;
        if (!key) throw new GatewayError('not_found', { message: 'There is no key with this id.' });
        return viewKey(key, site.now());
      },
    },
    {
      method: 'POST',
      path: '/api/keys/:id/rotate',
      name: 'rotateKey',
      summary: 'Makes a new secret for a key; the old one lives on for the grace.',
      body: rotateFields,
      data: ref('RotatedKey'),
      run: ({ site, params, body }) => site.admin.rotateKey(params.id ?? '', body, ACTOR),
    },
    {
      method: 'POST',
      path: '/api/keys/:id/end-grace',
      name: 'endGrace',
      summary: 'Ends every secret of a key but the current one.',
      body: {},
      data: ref('Key'),
      run: ({ site, params }) => site.admin.endGrace(params.id ?? '', ACTOR),
    },
    {
      method: 'DELETE',
      path: '/api/keys/:id',
      name: 'revokeKey',
      summary: 'Revokes a key for good.',
      data: ref('Key'),
      run: ({ site, params }) => site.admin.revokeKey(params.id ?? '', ACTOR),
    },
  ];
}

const reportRoutes: ApiRoute[] = [
  {
    method: 'GET',
    path: '/api/tenants/:name/usage',
    name: 'readUsage',
    summary: "A tenant's usage by day, key and helper, newest day first; at most 5 seconds behind.",
    query: usageQuery,
    data: shape({ usage: listOf(ref('UsageRow')), next }),
    async run({ site, params, query }) {
      const { id } = await site.admin.tenant(params.name ?? '');
      const { from, to, after } = query;
      const { rows, next = null } = await site.usage(id, {
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
        ...(after !== undefined && { after }),
        ...(query.limit !== undefined && { limit: Number(query.limit) }),
      });
      return { usage: rows, next };
    },
  },
  {
    method: 'GET',
    path: '/api/audit',
    name: 'readAudit',
    summary: 'Who did what to which key or tenant, newest first.',
    query: auditQuery,
    data: shape({ entries: listOf(ref('AuditEntry')), next }),
    run: ({ site, query: { tenant, key, before, limit } }) =>
      site.admin.audit({
        tenant,
        key,
        before: before === undefined ? undefined : Number(before),
        limit: limit === undefined ? undefined : Number(limit),
      }),
  },
];

function pageOf({ after, limit }: Record<string, string>) {
  return { after, limit: limit === undefined ? undefined : Number(limit) };
}
