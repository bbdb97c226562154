import type { Fields } from '../../../schemas/fields.js';
import type { KeyInputs } from '../../keys/inputs.js';
import { createUsageInput } from '../../usage/query.js';
import type { Site } from '../site.js';
import { listOf, ref, shape } from './shapes.js';

/** A call of the JSON API whose query and body have been judged. */
export interface ApiCall<Query, Body> {
  site: Site;
  params: Record<string, string>;
  query: Query;
  body: Body;
}

/** One operation of the JSON API: what it does, and all that its documentation needs. */
export interface ApiRoute<Query = object, Body = object> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** `operationId`. */
  name: string;
  summary: string;
  /** Left out, it takes no parameters. */
  query?: Fields<Query>;
  /** Left out, it takes no fields. */
  body?: Fields<Body>;
  /** JSON Schema of `data`. */
  data: object;
  run(call: ApiCall<Query, Body>): Promise<object>;
}

const actor = 'api:operator-token';
const next = { type: ['string', 'integer', 'null'], description: 'Of the next page; null on the last.' };

/** Holds the judges and the work of one operation together. */
function route<Query extends object = object, Body extends object = object>(
  each: ApiRoute<Query, Body>,
): ApiRoute {
  return each;
}

/** The JSON API: what the operator's pages can do, for programs. Each goes by the operator token alone. */
export function apiRoutes(inputs: KeyInputs): ApiRoute[] {
  return [...tenantRoutes(inputs), ...keyRoutes(inputs), ...reportRoutes(inputs)];
}

function tenantRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    route({
      method: 'POST',
      path: '/api/tenants',
      name: 'createTenant',
      summary: 'Creates a tenant.',
      body: inputs.tenant,
      data: ref('Tenant'),
      run: ({ site, body }) => site.admin.createTenant(body.name, actor),
    }),
    route({
      method: 'GET',
      path: '/api/tenants',
      name: 'listTenants',
      summary: 'Lists tenants by name.',
      query: inputs.tenantPage,
      data: shape({ tenants: listOf(ref('Tenant')), next }),
      run: ({ site, query }) => site.admin.listTenants(query),
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:name',
      name: 'getTenant',
      summary: 'Shows a tenant, and what its webhooks are signed with.',
      data: ref('SecretTenant'),
      run: ({ site, params }) => site.admin.tenantWithSecret(params.name ?? ''),
    }),
    route({
      method: 'PATCH',
      path: '/api/tenants/:name',
      name: 'setLimits',
      summary: "Changes a tenant's limits and weight; what is left out stays.",
      body: inputs.limits,
      data: ref('Tenant'),
      run: ({ site, params, body }) => site.admin.setLimits(params.name ?? '', body, actor),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:name/rotate-webhook-secret',
      name: 'rotateWebhookSecret',
      summary:
        'Gives a tenant another webhook secret; for a day webhooks are signed with the one before as well.',
      body: inputs.nothing,
      data: ref('WebhookSecret'),
      run: ({ site, params }) => site.admin.rotateWebhookSecret(params.name ?? '', actor),
    }),
  ];
}

function keyRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    route({
      method: 'POST',
      path: '/api/tenants/:name/keys',
      name: 'issueKey',
      summary: 'Issues a key; it is in this answer and nowhere else.',
      body: inputs.key,
      data: ref('IssuedKey'),
      run: ({ site, params, body }) => site.admin.issueKey(params.name ?? '', body, actor),
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:name/keys',
      name: 'listKeys',
      summary: "Lists a tenant's keys, oldest first, without their secrets.",
      query: inputs.keyPage,
      data: shape({ keys: listOf(ref('Key')), next }),
      run: ({ site, params, query }) => site.admin.listKeys(params.name ?? '', query),
    }),
    route({
      method: 'GET',
      path: '/api/keys/:id',
      name: 'getKey',
      summary: 'Shows a key without its secrets.',
      data: ref('Key'),
      run: ({ site, params }) => site.admin.key(params.id ?? ''),
    }),
    route({
      method: 'POST',
      path: '/api/keys/:id/rotate',
      name: 'rotateKey',
      summary: 'Makes a new secret for a key; the old one lives on for the grace.',
      body: inputs.rotation,
      data: ref('RotatedKey'),
      run: ({ site, params, body }) => site.admin.rotateKey(params.id ?? '', body, actor),
    }),
    route({
      method: 'POST',
      path: '/api/keys/:id/end-grace',
      name: 'endGrace',
      summary: 'Ends every secret of a key but the current one.',
      body: inputs.nothing,
      data: ref('Key'),
      run: ({ site, params }) => site.admin.endGrace(params.id ?? '', actor),
    }),
    route({
      method: 'POST',
      path: '/api/keys/:id/signing-secret',
      name: 'showSigningSecret',
      summary: 'Shows what signs urls for a key, which the audit log notes.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params }) => site.admin.signingSecret(params.id ?? '', actor),
    }),
    route({
      method: 'POST',
      path: '/api/keys/:id/rotate-signing',
      name: 'rotateSigning',
      summary: 'Gives a key another signing secret; urls that were signed before open nothing any more.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params }) => site.admin.rotateSigning(params.id ?? '', actor),
    }),
    route({
      method: 'DELETE',
      path: '/api/keys/:id',
      name: 'revokeKey',
      summary: 'Revokes a key for good.',
      data: ref('Key'),
      run: ({ site, params }) => site.admin.revokeKey(params.id ?? '', actor),
    }),
  ];
}

function reportRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:name/usage',
      name: 'readUsage',
      summary: "A tenant's usage by day, key and helper, newest day first; at most 5 seconds behind.",
      query: createUsageInput(),
      data: shape({ usage: listOf(ref('UsageRow')), next }),
      async run({ site, params, query }) {
        const { id } = await site.admin.tenant(params.name ?? '');
        const { rows, next = null } = await site.usage(id, query);
        return { usage: rows, next };
      },
    }),
    route({
      method: 'GET',
      path: '/api/audit',
      name: 'readAudit',
      summary: 'Who did what to which key or tenant, newest first.',
      query: inputs.audit,
      data: shape({ entries: listOf(ref('AuditEntry')), next }),
      run: ({ site, query }) => site.admin.audit(query),
    }),
  ];
}
