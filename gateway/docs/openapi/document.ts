import { type Components, createComponents } from '../../../schemas/convert-schema.js';
import { signatureParameters } from '../../../schemas/declared-helper.js';
import { closedObject, type JsonSchema } from '../../../schemas/json-schema.js';
import type { Helper, Registry } from '../../plugins/registry.js';
import { inputSchemas, queryParameters, requestBody } from './input.js';
import { jobPaths } from './jobs.js';
import {
  addEnvelopes,
  conditionalHeaders,
  createOperationIds,
  failureResponses,
  failuresOf,
  headers,
  jsonResponse,
  type SuccessWith,
  successResponse,
  unchangedResponse,
} from './responses.js';

interface DocumentOptions {
  /** The gateway's. */
  version: string;
  /** Where the API is; the origin of the document by default. */
  serverUrl?: string | undefined;
}

/** The OpenAPI 3.1 document of all helpers, made from what their plugins declare. */
export function openApiDocument(registry: Registry, { version, serverUrl = '/' }: DocumentOptions) {
  const components = createComponents('#/components/schemas');
  const successWith = addEnvelopes(components);
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

function pathItem(
  helper: Helper,
  components: Components,
  successWith: SuccessWith,
  operationId: ReturnType<typeof createOperationIds>,
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
      parameters: [...queryParameters(helper, input), ...conditionalHeaders(helper)],
      responses: { 200: success, ...unchangedResponse(helper), ...failuresOf() },
    },
    post,
  };
}

/** Helpers are grouped by the first part of their path. */
function groupOf(id: string): string {
  return id.split('/', 1)[0] ?? id;
}

/** How a call may be authenticated, as the document's components. */
const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The API key in the header Authorization.' },
  ak: { type: 'apiKey', in: 'query', name: 'ak', description: 'The API key in the address.' },
  kid: inAddress(
    'kid',
    'Of a signed url: the id of the key that signed it. `kid`, `exp` and `sig` go together.',
  ),
  exp: inAddress('exp', 'Of a signed url: when it ends, in whole seconds since 1970.'),
  sig: inAddress(
    'sig',
    'Of a signed url: base64url of HMAC-SHA256, by the signing secret of the key, over `hg1`, the path and the sorted query.',
  ),
} satisfies Record<'bearer' | 'ak' | (typeof signatureParameters)[number], object>;

type Requirement = Record<string, never[]>;

/** A key, in one of two places. */
const byKey: Requirement[] = [{ bearer: [] }, { ak: [] }];

/** Or the three parameters of a signed url, which is for GET and HEAD alone. */
const byKeyOrSignature: Requirement[] = [
  ...byKey,
  Object.fromEntries(signatureParameters.map((name) => [name, []])),
];

function inAddress(name: string, description: string) {
  return { type: 'apiKey', in: 'query', name, description };
}

/** The paths about the gateway itself, which need no key. */
function healthPaths(successWith: SuccessWith): Record<string, object> {
  const text = { type: 'string' };
  const operation = (operationId: string, summary: string, data: JsonSchema) => ({
    operationId,
    summary,
    tags: ['gateway'],
    security: [],
    responses: {
      200: jsonResponse('Yes.', successWith(data), []),
      ...failuresOf([400, 405, 408, 431, 500, 503]),
    },
  });
  const alive = closedObject({ status: { ...text, const: 'alive' } });
  const ready = closedObject(
    {
      status: { ...text, const: 'ready' },
      engine: { ...text, description: 'What draws pictures.' },
      engine_fallback: { ...text, description: 'Why it is not sharp.' },
      keys: { ...text, enum: ['available', 'unavailable'] },
      threads: { type: 'integer', minimum: 0, description: 'Worker threads that are ready.' },
      missing: { type: 'array', items: text, description: 'Helpers that a worker could not load.' },
    },
    ['engine_fallback', 'missing'],
  );
  return {
    '/healthz': { get: operation('alive', 'Whether the process is alive', alive) },
    '/readyz': { get: operation('ready', 'Whether the gateway may take traffic', ready) },
  };
}
