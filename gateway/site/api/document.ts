import type { FieldsSchema } from '../../../schemas/fields.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { toStandard } from '../../../schemas/keywords/keywords.js';
import { type ErrorCode, errorTable } from '../../errors.js';
import type { KeyInputs } from '../../keys/inputs.js';
import { recipeScope } from '../../keys/schemas.js';
import { keyRoutes, keyShapes, tokenRoutes, tokenShapes } from './keys.js';
import { recipeRoutes, recipeShapes } from './recipes.js';
import { recordRoutes, recordShapes } from './records.js';
import type { ApiRoute } from './route.js';
import { all, listOf, ref, shape, stringSchema } from './shapes.js';
import { planRoutes, planShapes, tenantRoutes, tenantShapes } from './tenants.js';

/** The JSON API: what the operator's pages can do, for programs. Each needs a token. */
export function apiRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    ...tenantRoutes(inputs),
    ...keyRoutes(inputs),
    ...planRoutes(inputs),
    ...recipeRoutes(),
    ...recordRoutes(inputs),
    ...tokenRoutes(inputs),
  ];
}

/** What the JSON API answers with, as JSON Schema (2020-12, as OpenAPI 3.1 has it). */
const shapes = {
  ...tenantShapes,
  ...keyShapes,
  ...planShapes,
  ...recipeShapes,
  ...recordShapes,
  ...tokenShapes,
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
};

/** Errors that any operation may answer with; those of one status are one response. */
const failures: readonly (readonly [ErrorCode, ...ErrorCode[]])[] = [
  ['invalid_input'],
  ['unauthorized'],
  ['forbidden'],
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
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'HELPER_OPERATOR_TOKEN, or a token of the site (`hgt_…`); one for support may only read.',
        },
      },
      responses: Object.fromEntries(failures.map((codes) => [codes.join('-'), failureResponse(codes)])),
    },
  };
}

/** Of operations that answer with CSV too. */
const csvFormat = {
  type: 'string',
  enum: ['json', 'csv'],
  default: 'json',
  description: 'What the answer is; `Accept: text/csv` chooses CSV as well.',
} as const satisfies JsonSchema;

type Plain = (schema: JsonSchema) => JsonSchema;

function operation(route: ApiRoute, plain: Plain): object {
  const { method, path, name, summary, query, body, data, csv, forMembers, creates } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const fields = { ...query?.schema.properties, ...(csv && { format: csvFormat }) };
  const inQuery = Object.entries(fields).map(([name, property]) => {
    const { description, ...schema } = plain(property);
    return { name, in: 'query', required: false, description, schema };
  });
  const envelope = shape({ ok: { const: true }, data, meta: ref('Meta') });
  const asCsv = csv && { 'text/csv': { schema: stringSchema } };
  const content = { 'application/json': { schema: envelope }, ...asCsv };
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
