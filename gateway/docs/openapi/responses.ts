import { STATUS_CODES } from 'node:http';
import { mediaTypes } from '../../../pool/image/options.js';
import { type Components, createConverter } from '../../../schemas/convert-schema.js';
import type { DeclaredHelper } from '../../../schemas/declared-helper.js';
import { closedObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { type ErrorCode, type ErrorEntry, errorTable } from '../../errors.js';
import { mayReuse } from '../../pipeline/reuse.js';
import type { Helper } from '../../plugins/registry.js';

const milliseconds: JsonSchema = { type: 'number', minimum: 0 };

const metaSchema = closedObject(
  {
    service: {
      type: ['string', 'null'],
      pattern: '^[^/]+(/[^/]+)*$',
      examples: ['text/remove-stopwords'],
      description: 'Id of the helper, e.g. text/remove-stopwords; null where the path is no helper.',
    },
    dryrun: { type: 'boolean', examples: [false] },
    request_id: {
      type: 'string',
      minLength: 1,
      examples: ['32195114-4cee-4143-b277-53da35209473'],
      description: 'The same as in the header x-request-id.',
    },
    cost: {
      ...closedObject({
        cpu_ms: {
          description: 'Milliseconds of CPU; null where no such call has run yet.',
          anyOf: [{ type: 'null' }, closedObject({ p50: milliseconds, p95: milliseconds })],
        },
      }),
      description:
        'Of a dry run: what the call is likely to cost. Half of such calls stay below p50, and 95 of 100 below p95, of this helper, format and size of picture or text; of pictures of all sizes where none came.',
    },
  },
  ['cost'],
);

/** Every failure, on every path. */
const failureSchema = closedObject({
  ok: { const: false },
  error: closedObject(
    {
      code: { type: 'string', examples: ['invalid_input'], pattern: '^[a-z]+(_[a-z]+)*$' },
      message: {
        type: 'string',
        minLength: 1,
        description:
          'What is wrong, for a person; where several problems are in details, that there are some.',
        examples: ['width must be an integer from 0 to 5000, but is the number 5001'],
      },
      details: {
        type: 'array',
        description: 'Every problem of the input.',
        items: closedObject({
          field: { type: 'string', minLength: 1, examples: ['width'] },
          problem: { type: 'string', minLength: 1, examples: ['must be an integer from 0 to 5000'] },
        }),
      },
    },
    ['details'],
  ),
  meta: metaSchema,
});

/** The envelope of a success with this data. */
export type SuccessWith = (data: JsonSchema) => JsonSchema;

/** Adds the envelope's parts to the components; gives the envelope of any success that is not bytes. */
export function addEnvelopes(components: Components): SuccessWith {
  const meta = components.add('Meta', metaSchema);
  components.add('Failure', failureSchema);
  const description = 'The result; its fields depend on the helper.';
  return (data) => closedObject({ ok: { const: true }, data: { description, ...data }, meta });
}

/** Gives each operation an id that no other has: `getTextDiffTwoStrings`. */
export function createOperationIds(): (method: string, id: string) => string {
  const used = new Set<string>();
  return function operationId(method, id) {
    const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
    const wanted = method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    let name = wanted;
    for (let at = 2; used.has(name); at += 1) name = `${wanted}_${at}`;
    used.add(name);
    return name;
  };
}

/** A helper's id as the first part of a component's name. */
export function componentPrefix(id: string): string {
  return id.replaceAll('/', '.');
}

/** The name of a status, e.g. `NotFound`. */
function statusName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replace(/[^A-Za-z0-9]/g, '');
}

/** The fields of answers, by their names among the document's components. */
export const headers = {
  'X-Request-Id': {
    description: 'Id of this call, the same as `meta.request_id`; the log of the gateway has it too.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'What is left of the tenant’s limits: `r` units, `t` seconds until there are more (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"rate";r=49;t=1',
  },
  'RateLimit-Policy': {
    description: 'The tenant’s limits: `q` units in `w` seconds.',
    schema: { type: 'string' },
    example: '"rate";q=50;w=1',
  },
  'X-Cost-Ms': {
    description:
      'Milliseconds of CPU that the call is charged, on every answer of a helper, also where it fails: 0 for a cached answer and a 304.',
    schema: { type: 'number', minimum: 0 },
    example: '12.4',
  },
  'Retry-After': {
    description: 'Seconds after which to try again.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': { description: 'How to send the key.', schema: { type: 'string' } },
  ETag: {
    description:
      'Of a picture that was made of a picture: the same wherever the same is made of the same. Sent back in `If-None-Match` of a GET it spares the client the bytes.',
    schema: { type: 'string' },
    example: '"945GCnFXf9jHdZUZTZnZT-hSsZKRNZp1xYOk_AqJYMo"',
  },
  'Cache-Control': {
    description:
      'How long an answer may be kept: that of a signed url as `public, max-age=…`, no longer than the url holds; any other not at all.',
    schema: { type: 'string' },
  },
  'X-Cache': {
    description:
      'The cache status of the picture: cached (`hit`), made (`miss`), or just being made for another call of the tenant (`shared`).',
    schema: { type: 'string', enum: ['hit', 'miss', 'shared'] },
  },
  Location: { description: 'The path of what has been made.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` where the same request was answered before, with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Allow: { description: 'The methods that this path takes.', schema: { type: 'string' } },
} as const;

export type HeaderName = keyof typeof headers;

export const limitHeaders: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

const helperHeaders: readonly HeaderName[] = [...limitHeaders, 'X-Cost-Ms'];

const reuseHeaders: readonly HeaderName[] = ['ETag', 'Cache-Control', 'X-Cache'];

/** References to these fields; every answer has its request's id. */
function headersOf(names: readonly HeaderName[]): Record<string, { $ref: string }> {
  const all: HeaderName[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Errors that only the key-management site answers with. */
const siteErrors: readonly string[] = ['unauthorized', 'forbidden', 'exists'] satisfies ErrorCode[];
/** Of helpers with files. */
const fileErrors: readonly ErrorCode[] = ['source_refused', 'source_failed', 'source_timeout'];
/** Of helpers with pictures. */
const pictureErrors: readonly ErrorCode[] = ['bad_image', 'image_too_large'];

/** The errors that a call of this helper can have, by status. */
export function errorsOfHelper({ files }: Pick<DeclaredHelper, 'files'>) {
  const takesPictures = files.some(({ kind }) => kind === 'image');
  const never = new Set<string>([
    ...siteErrors,
    ...(files.length === 0 ? fileErrors : []),
    ...(takesPictures ? [] : pictureErrors),
  ]);
  return failures.filter(({ code }) => !never.has(code)).sort((one, other) => one.status - other.status);
}

/** Headers that answers of one status have besides. A key is checked before limits are. */
const headersOfStatus: Record<number, readonly HeaderName[]> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  408: [],
  429: [...limitHeaders, 'Retry-After'],
  431: [],
  503: [...limitHeaders, 'Retry-After'],
};

const failures = Object.entries<ErrorEntry>(errorTable)
  .map(([code, { status, message }]) => ({ code, status, message }))
  .filter(({ code }) => !siteErrors.includes(code));
const failureStatuses = [...new Set(failures.map(({ status }) => status))];

/** The answers that are errors, each a component of its status: every code of the table, in the one failure envelope. */
export function failureResponses(): Record<string, object> {
  return Object.fromEntries(failureStatuses.map((status) => [statusName(status), failureResponse(status)]));
}

/** References to them, for an operation; to all of them, or those of these statuses. */
export function failuresOf(statuses: readonly number[] = failureStatuses): Record<string, object> {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/${statusName(status)}` }]),
  );
}

function failureResponse(status: number): object {
  const possible = failures.filter((failure) => failure.status === status);
  const error = {
    type: 'object',
    properties: { code: { type: 'string', enum: possible.map(({ code }) => code) } },
  };
  return jsonResponse(
    possible.map(({ code, message }) => `- \`${code}\`: ${message}`).join('\n'),
    { allOf: [{ $ref: '#/components/schemas/Failure' }, { type: 'object', properties: { error } }] },
    headersOfStatus[status],
  );
}

/** An answer in JSON, with the headers of limits if no others are named. */
export function jsonResponse(
  description: string,
  schema: JsonSchema,
  names: readonly HeaderName[] = limitHeaders,
): { description: string; headers: object; content: object } {
  return { description, headers: headersOf(names), content: { 'application/json': { schema } } };
}

const anyObject: JsonSchema = { type: 'object', additionalProperties: true };

/**
 * A helper's answer with 200, which covers its dry run. Without a declared output it may be bytes of any type too, and a picture most
 * likely where the helper has a picture.
 */
export function successResponse(helper: Helper, components: Components, successWith: SuccessWith): object {
  const names = hasEtag(helper) ? [...helperHeaders, ...reuseHeaders] : helperHeaders;
  const { content, ...others } = jsonResponse('Done.', successWith(dataOf(helper, components)), names);
  return { ...others, content: { ...bytesOf(helper), ...content } };
}

/** The answer to a client that has the picture already, of helpers with an `ETag`. */
export function unchangedResponse(helper: Helper): Record<string, object> {
  if (!hasEtag(helper)) return {};
  const description = 'The client has this picture already, as `If-None-Match` says. No body.';
  return { 304: { description, headers: headersOf([...helperHeaders, ...reuseHeaders]) } };
}

/** Whether a helper answers with pictures that have an `ETag`; with a declared output it answers with data. */
function hasEtag({ declaration }: Helper): boolean {
  return declaration.output === undefined && mayReuse(declaration);
}

export function conditionalHeaders(helper: Helper): object[] {
  if (!hasEtag(helper)) return [];
  const description = 'The `ETag` of a picture that the client has, or several with commas between them.';
  return [{ name: 'If-None-Match', in: 'header', required: false, description, schema: { type: 'string' } }];
}

function bytesOf({ declaration: { output, files } }: Helper): Record<string, object> {
  if (output !== undefined) return {};
  const pictures = files.some(({ kind }) => kind === 'image') ? Object.values(mediaTypes) : [];
  const types = [...pictures, '*/*'];
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
}

function dataOf(helper: Helper, components: Components): JsonSchema {
  const { output, dryrun } = helper.declaration;
  const real = output
    ? createConverter(output, `${componentPrefix(helper.id)}.output`, components)(output)
    : anyObject;
  if (dryrun === 'run') return real;
  const dry = dryrun === 'own' ? anyObject : dryRunData(helper.id);
  return output === undefined && dryrun === 'own' ? anyObject : { anyOf: [real, dry] };
}

/** The data of a dry run of a helper without one of its own. */
function dryRunData(id: string): JsonSchema {
  const name = id.slice(id.lastIndexOf('/') + 1);
  return { title: 'Of a dry run', ...closedObject({ operation: { type: 'string', const: name } }) };
}
