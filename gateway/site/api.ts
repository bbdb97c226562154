import type { Fields, FieldsSchema } from '../../schemas/fields.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { toStandard } from '../../schemas/keywords/keywords.js';
import { type ErrorCode, errorTable } from '../errors.js';
import type { KeyInputs } from '../keys/inputs.js';
import { recipeScope } from '../keys/schemas.js';
import { definitionSchema } from '../plugins/recipes/recipe.js';
import { createUsageInput } from '../usage/report.js';
import type { Site } from './site.js';

/** One operation of the JSON API: what it does, and all that its documentation needs. */
export interface ApiRoute<Query = object, Body = object> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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
  /** Open to a signed-in member of the tenant `:name` too; the others are the operator token's alone. */
  forMembers?: true;
  /** It may answer 201. */
  creates?: true;
  run(call: ApiCall<Query, Body>): Promise<object>;
}

export interface ApiCall<Query = object, Body = object> {
  site: Site;
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** How the audit log names who calls. */
  actor: string;
  /** Its status is 200 unless the operation sets another. */
  answer: { status: number };
}

export const apiActor = 'api:operator-token';
const nextSchema = {
  type: ['string', 'integer', 'null'],
  description: 'Of the next page; null on the last.',
};

/** Keeps the types of one operation together; `at` is its method and path. */
function defineRoute<Query extends object = object, Body extends object = object>(
  at: `${ApiRoute['method']} ${string}`,
  name: string,
  operation: Omit<ApiRoute<Query, Body>, 'method' | 'path' | 'name'>,
): ApiRoute {
  const [method, path] = at.split(' ') as [ApiRoute['method'], string];
  return { method, path, name, ...operation };
}

/** A recipe's definition: what is wrong with it, the compiler of recipes says. */
const recipeFields: Fields<object> = {
  schema: definitionSchema,
  coerce: (texts) => Object.fromEntries(texts),
  check: (value) => ({ value, problems: [] }),
};

/** The JSON API: what the operator's pages can do, for programs. Each needs the operator token. */
export function apiRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('POST /api/tenants', 'createTenant', {
      summary: 'Creates a tenant.',
      body: inputs.tenant,
      data: ref('Tenant'),
      run: ({ site, body, actor }) => site.admin.createTenant(body.name, actor),
    }),
    defineRoute('GET /api/tenants', 'listTenants', {
      summary: 'Lists tenants by name.',
      query: inputs.tenantPage,
      data: shape({ tenants: listOf(ref('Tenant')), next: nextSchema }),
      run: ({ site, query }) => site.admin.listTenants(query),
    }),
    defineRoute('GET /api/tenants/:name', 'getTenant', {
      summary: 'Shows a tenant, and what its webhooks are signed with.',
      data: ref('SecretTenant'),
      run: ({ site, params }) => site.admin.tenantWithSecret(params.name ?? ''),
    }),
    defineRoute('PATCH /api/tenants/:name', 'setLimits', {
      summary: "Changes a tenant's limits and weight; what is left out stays.",
      body: inputs.limits,
      data: ref('Tenant'),
      run: ({ site, params, body, actor }) => site.admin.setLimits(params.name ?? '', body, actor),
    }),
    defineRoute('POST /api/tenants/:name/rotate-webhook-secret', 'rotateWebhookSecret', {
      summary:
        'Gives a tenant another webhook secret; for a day webhooks are signed with the one before as well.',
      body: inputs.nothing,
      data: ref('WebhookSecret'),
      run: ({ site, params, actor }) => site.admin.rotateWebhookSecret(params.name ?? '', actor),
    }),
    defineRoute('POST /api/tenants/:name/keys', 'issueKey', {
      summary: 'Issues a key; it is in this answer and nowhere else.',
      body: inputs.key,
      data: ref('IssuedKey'),
      run: ({ site, params, body, actor }) => site.admin.issueKey(params.name ?? '', body, actor),
    }),
    defineRoute('GET /api/tenants/:name/keys', 'listKeys', {
      summary: "Lists a tenant's keys, oldest first, without their secrets.",
      query: inputs.keyPage,
      data: shape({ keys: listOf(ref('Key')), next: nextSchema }),
      run: ({ site, params, query }) => site.admin.listKeys(params.name ?? '', query),
    }),
    defineRoute('PUT /api/tenants/:name/recipes/:recipe', 'putRecipe', {
      summary: "Adds a tenant's recipe, or replaces the one of this name.",
      forMembers: true,
      creates: true,
      body: recipeFields,
      data: shape({ recipe: ref('Recipe') }),
      async run({ site, params: { name = '', recipe = '' }, body, actor, answer }) {
        const saved = await site.admin.putRecipe(name, recipe, body, actor);
        if (saved.isNew) answer.status = 201;
        return { recipe: saved.recipe };
      },
    }),
    defineRoute('GET /api/tenants/:name/recipes', 'listRecipes', {
      summary: "Lists a tenant's recipes by name, all at once.",
      forMembers: true,
      data: shape({ recipes: listOf(ref('Recipe')) }),
      run: ({ site, params }) => site.admin.listRecipes(params.name ?? ''),
    }),
    defineRoute('GET /api/tenants/:name/recipes/:recipe', 'getRecipe', {
      summary: "Shows a tenant's recipe.",
      forMembers: true,
      data: shape({ recipe: ref('Recipe') }),
      run: async ({ site, params: { name = '', recipe = '' } }) => ({
        recipe: await site.admin.recipe(name, recipe),
      }),
    }),
    defineRoute('DELETE /api/tenants/:name/recipes/:recipe', 'deleteRecipe', {
      summary: "Deletes a tenant's recipe, and shows what it was.",
      forMembers: true,
      data: shape({ recipe: ref('Recipe') }),
      run: async ({ site, params: { name = '', recipe = '' }, actor }) => ({
        recipe: await site.admin.deleteRecipe(name, recipe, actor),
      }),
    }),
    defineRoute('GET /api/keys/:id', 'getKey', {
      summary: 'Shows a key without its secrets.',
      data: ref('Key'),
      run: ({ site, params }) => site.admin.key(params.id ?? ''),
    }),
    defineRoute('POST /api/keys/:id/rotate', 'rotateKey', {
      summary: 'Makes a new secret for a key; the old one lives on for the grace.',
      body: inputs.rotation,
      data: ref('RotatedKey'),
      run: ({ site, params, body, actor }) => site.admin.rotateKey(params.id ?? '', body, actor),
    }),
    defineRoute('POST /api/keys/:id/end-grace', 'endGrace', {
      summary: 'Ends every secret of a key but the current one.',
      body: inputs.nothing,
      data: ref('Key'),
      run: ({ site, params, actor }) => site.admin.endGrace(params.id ?? '', actor),
    }),
    defineRoute('POST /api/keys/:id/signing-secret', 'showSigningSecret', {
      summary: 'Shows what signs urls for a key, which the audit log notes.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params, actor }) => site.admin.signingSecret(params.id ?? '', actor),
    }),
    defineRoute('POST /api/keys/:id/rotate-signing', 'rotateSigning', {
      summary: 'Gives a key another signing secret; urls that were signed before open nothing any more.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params, actor }) => site.admin.rotateSigning(params.id ?? '', actor),
    }),
    defineRoute('DELETE /api/keys/:id', 'revokeKey', {
      summary: 'Revokes a key for good.',
      data: ref('Key'),
      run: ({ site, params, actor }) => site.admin.revokeKey(params.id ?? '', actor),
    }),
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
  ];
}

const stringSchema = { type: 'string' } as const;
const timeSchema = { type: 'string', format: 'date-time' } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const nullableText = { type: ['string', 'null'] } as const;
const limit = {
  type: ['number', 'null'],
  description: "Null is the plan's, else the gateway's default.",
} as const;
const scopesSchema = { type: ['array', 'null'], items: stringSchema, description: 'Null is every helper.' };

/** An object with exactly these properties. */
function shape(properties: Record<string, object>, optional: readonly string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const described = (schema: object, description: string) => ({ ...schema, description });

/** The same schema for properties of these names. */
function all(schema: object, ...names: string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

const listOf = (items: object) => ({ type: 'array', items });

const tenantProperties = {
  ...all(stringSchema, 'id', 'name'),
  created_at: timeSchema,
  state: { type: 'string', enum: ['active', 'suspended'] },
  suspended_at: nullableTime,
  ...all(nullableText, 'plan', 'external_id', 'note', 'notice_url'),
  limits: described(
    shape(all(limit, 'rate', 'burst', 'monthly_quota', 'in_flight', 'monthly_cpu_ms')),
    'Its own values, which win over those of its plan.',
  ),
  weight: { type: 'number', description: 'What holds: its own, else that of its plan, else 1.' },
} as const;

/** What the JSON API answers with, as JSON Schema (2020-12, as OpenAPI 3.1 has it). */
const shapes = {
  Tenant: shape(tenantProperties),
  SecretTenant: shape(
    {
      ...tenantProperties,
      webhook_secret: described(
        nullableText,
        'What its webhooks are signed with; null where the gateway has no master secret.',
      ),
      webhook_hint: described(stringSchema, 'Where it is null: what is missing.'),
    },
    ['webhook_hint'],
  ),
  Key: shape({
    id: stringSchema,
    label: nullableText,
    scopes: scopesSchema,
    limits: described(
      shape(all(limit, 'rate', 'monthly_quota', 'monthly_cpu_ms')),
      "Of its own, below the tenant's; null is no limit of its own.",
    ),
    state: { type: 'string', enum: ['active', 'paused', 'expired', 'revoked'] },
    hint: described(stringSchema, 'First and last characters of the current secret.'),
    created_at: timeSchema,
    ...all(nullableTime, 'expires_at', 'revoked_at', 'paused_at', 'last_used_at'),
    secrets: listOf(
      shape({ id: stringSchema, hint: stringSchema, created_at: timeSchema, expires_at: nullableTime }),
    ),
  }),
  IssuedKey: shape({
    id: stringSchema,
    key: described(stringSchema, 'The key itself, this once.'),
    tenant: stringSchema,
    label: nullableText,
    scopes: scopesSchema,
    expires_at: nullableTime,
    signing_secret: described(
      nullableText,
      'What signs urls for it; null where the gateway has no master secret.',
    ),
  }),
  RotatedKey: shape({
    id: stringSchema,
    key: described(stringSchema, 'The new secret, this once.'),
    previous_expires_at: described(timeSchema, 'When the secret that was current until now stops working.'),
  }),
  SigningSecret: shape({
    id: described(stringSchema, "The key's id, which stands in the urls as `kid`."),
    signing_secret: described(stringSchema, 'The current one; it stays in force until the next rotation.'),
  }),
  WebhookSecret: shape({
    tenant: stringSchema,
    webhook_secret: described(stringSchema, '`whsec_` and base64, as Standard Webhooks has it.'),
    previous_until: described(
      nullableTime,
      'Until when webhooks are signed with the secret before it as well; null where they are not.',
    ),
  }),
  Recipe: {
    ...shape({ name: stringSchema, ...all(timeSchema, 'created_at', 'updated_at') }),
    // The definition as it was given.
    additionalProperties: true,
  },
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
  Meta: shape({ service: { type: 'null' }, dryrun: { type: 'boolean' }, request_id: stringSchema }),
  Failure: shape({
    ok: { const: false },
    error: shape(
      {
        ...all(stringSchema, 'code', 'message'),
        details: listOf(shape(all(stringSchema, 'field', 'problem'))),
      },
      ['details'],
    ),
    meta: { $ref: '#/components/schemas/Meta' },
  }),
} as const;

/** A reference to one of them. */
function ref(name: keyof typeof shapes): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** Errors that any operation may answer with; those of one status are one response. */
const failures: readonly (readonly [ErrorCode, ...ErrorCode[]])[] = [
  ['invalid_input'],
  ['unauthorized'],
  ['not_found'],
  ['method_not_allowed'],
  ['exists', 'conflict'],
  ['too_large'],
  ['unsupported_media_type'],
  ['internal'],
  ['keys_unavailable', 'storage_unavailable'],
];

/** The OpenAPI 3.1 document, from the table and schemas that serve it; `scopes` is what a key's scope can be. */
export function openApiDocument(routes: readonly ApiRoute[], baseUrl: string, scopes: readonly string[]) {
  const plain = (schema: JsonSchema) =>
    toStandard(schema, { knownScopes: () => scopes, scopePattern: recipeScope });
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, plain) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'helper-gateway keys',
      version: '1.0.0',
      description: 'Tenants, API keys and usage of a helper-gateway, for its operator.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      schemas: shapes,
      securitySchemes: {
        operatorToken: { type: 'http', scheme: 'bearer', description: 'HELPER_OPERATOR_TOKEN' },
      },
      responses: Object.fromEntries(failures.map((codes) => [codes.join('-'), failureResponse(codes)])),
    },
  };
}

type Plain = (schema: JsonSchema) => JsonSchema;

function operation(route: ApiRoute, plain: Plain): object {
  const { method, path, name, summary, query, body, data, forMembers, creates } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.schema.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = plain(property);
    return { name, in: 'query', required: false, description, schema };
  });
  const envelope = shape({ ok: { const: true }, data, meta: ref('Meta') });
  const content = { 'application/json': { schema: envelope } };
  return {
    operationId: name,
    summary,
    ...(forMembers && { description: "For a signed-in member of the tenant too, by the session's cookie." }),
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body && method !== 'DELETE' && { requestBody: requestBody(body.schema, plain) }),
    responses: {
      200: { description: 'Done.', content },
      ...(creates && { 201: { description: 'Created.', content } }),
      ...Object.fromEntries(
        failures.map((codes) => [
          errorTable[codes[0]].status,
          { $ref: `#/components/responses/${codes.join('-')}` },
        ]),
      ),
    },
  };
}

function requestBody({ properties, required = [] }: FieldsSchema, plain: Plain): object {
  const fields = Object.entries(properties).map(([name, property]) => [name, plain(property)]);
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const schema = shape(Object.fromEntries(fields), optional);
  return { required: required.length > 0, content: { 'application/json': { schema } } };
}

function failureResponse(codes: readonly ErrorCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].message}`).join('\n\n'),
    content: { 'application/json': { schema: ref('Failure') } },
  };
}
