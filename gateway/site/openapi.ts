import type { FieldsSchema } from '../../schemas/fields.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { toStandard } from '../../schemas/keywords/keywords.js';
import { type ErrorCode, errorTable } from '../errors.js';
import { type ApiRoute, ref, shape, shapes } from './api.js';

/** Errors that any operation may answer with; those of one status are one response. */
const failures: readonly (readonly [ErrorCode, ...ErrorCode[]])[] = [
  ['invalid_input'],
  ['unauthorized'],
  ['not_found'],
  ['method_not_allowed'],
  ['exists'],
  ['too_large'],
  ['unsupported_media_type'],
  ['internal'],
  ['keys_unavailable', 'storage_unavailable'],
];

/**
 * The OpenAPI 3.1 document of the JSON API, written from the same table and schemas that serve it. `baseUrl` is the site's,
 * `scopes` is what a key's scope can be.
 */
export function openApiDocument(routes: readonly ApiRoute[], baseUrl: string, scopes: readonly string[]) {
  const plain = (schema: JsonSchema) => toStandard(schema, { knownScopes: () => scopes });
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
    servers: [{ url: baseUrl.replace(/\/$/, '') }],
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

function operation({ method, path, name, summary, query, body, data }: ApiRoute, plain: Plain): object {
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
  return {
    operationId: name,
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body && method !== 'DELETE' && { requestBody: requestBody(body.schema, plain) }),
    responses: {
      200: { description: 'Done.', content: { 'application/json': { schema: envelope } } },
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
