import type { Helper, Registry } from '../../helpers/registry.js';
import { placeEnvelopes, type SuccessWith } from './envelopes.js';
import { failureResponses, failuresOf } from './failures.js';
import { headers } from './headers.js';
import { healthPaths } from './health.js';
import { inputSchemas } from './input-schemas.js';
import { jobPaths } from './jobs.js';
import { createOperationIds } from './names.js';
import { queryParameters } from './query.js';
import { requestBody } from './request-body.js';
import { type Components, createComponents } from './schema/components.js';
import { byKey, byKeyOrSignature, securitySchemes } from './security.js';
import { conditions, successResponse, unchangedResponse } from './success.js';

export interface DocumentOptions {
  /** The gateway's. */
  version: string;
  /** Where the API is; the origin of the document by default. */
  serverUrl?: string | undefined;
}

/** The OpenAPI 3.1 document of all helpers, made from what their plugins declare. */
export function openApiDocument(registry: Registry, { version, serverUrl = '/' }: DocumentOptions) {
  const components = createComponents('#/components/schemas');
  const successWith = placeEnvelopes(components);
  const operationId = createOperationIds();
  const helpers = [...registry.values()];
  const paths = helpers.map((helper): [string, object] => [
    `/${helper.id}`,
    pathItem(helper, components, successWith, operationId),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'helper-gateway',
      version,
      description:
        'Small helpers for text and pictures. Each takes its parameters as a query, as JSON or as a form, and answers with one JSON envelope, or with bytes. With `dryrun` a call is checked and not carried out; what is required may be left out then.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: byKey,
    tags: [...new Set([...helpers.map(({ id }) => groupOf(id)), 'jobs', 'gateway'])].map((name) => ({
      name,
    })),
    paths: {
      ...Object.fromEntries(paths),
      ...jobPaths([...registry.keys()], components, successWith),
      ...healthPaths(successWith),
    },
    components: {
      securitySchemes,
      headers,
      responses: failureResponses(),
      schemas: components.schemas,
    },
  };
}

type OperationId = ReturnType<typeof createOperationIds>;

function pathItem(
  helper: Helper,
  components: Components,
  successWith: SuccessWith,
  operationId: OperationId,
): object {
  const { id, declaration } = helper;
  const { summary, description } = declaration;
  const input = inputSchemas(helper, components);
  const success = successResponse(helper, components, successWith);
  const about = { summary, ...(description === undefined ? {} : { description }), tags: [groupOf(id)] };
  const responses = { 200: success, ...failuresOf() };
  const post = {
    operationId: operationId('post', id),
    ...about,
    requestBody: requestBody(helper, input),
    responses,
  };
  if (declaration.effects)
    return { post: { ...post, 'x-effects': true, 'x-idempotent': declaration.repeatable } };
  return {
    get: {
      operationId: operationId('get', id),
      ...about,
      security: byKeyOrSignature,
      parameters: [...queryParameters(helper, input), ...conditions(helper)],
      responses: { 200: success, ...unchangedResponse(helper), ...failuresOf() },
    },
    post,
  };
}

/** Helpers are grouped by the first part of their path. */
function groupOf(id: string): string {
  return id.split('/', 1)[0] ?? id;
}
