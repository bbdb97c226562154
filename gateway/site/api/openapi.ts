import type { FieldsSchema } from '../../../schemas/fields.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { standardSchema } from '../../../schemas/vocabulary/standard.js';
import { errorTable } from '../../errors.js';
import type { ApiRoute } from './routes.js';
import { ref, shape, shapes } from './shapes.js';

/** Errors that any operation may answer with, by status. */
const failures = [
  'invalid_input',
  'unauthorized',
  'not_found',
  'method_not_allowed',
  'exists',
  'too_large',
  'unsupported_media_type',
  'internal',
  'keys_unavailable',
] as const;

/**
 * The OpenAPI 3.1 document of the JSON API, written from the same table and schemas that serve it. `baseUrl` is the site's,
 * `scopes` is what a key's scope can be.
 */
export function openApiDocument(routes: readonly ApiRoute[], baseUrl: string, scopes: readonly string[]) {
  const plain = (schema: JsonSchema) => standardSchema(schema, scopes);
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
      responses: Object.fromEntries(failures.map((code) => [code, failureResponse(code)])),
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
        failures.map((code) => [errorTable[code].status, { $ref: `#/components/responses/${code}` }]),
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

function failureResponse(code: (typeof failures)[number]): object {
  return {
    description: `\`${code}\`: ${errorTable[code].message}`,
    content: { 'application/json': { schema: ref('Failure') } },
  };
}
