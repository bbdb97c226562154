import { randomUUID } from 'node:crypto';
import { setTimeout as setTimer } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { type ErrorCode, errorTable, GatewayError, inputError } from '../../errors.js';
import type { Meta } from '../../http/envelope.js';
import type { GivenInput, Reply } from '../../local-helpers.js';
import type { CallTarget } from './make-calls.js';
import type { AnswerForm } from './results.js';

/** What a gateway answered. */
interface ServerAnswer {
  status: number;
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
}

interface ServerRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: () => BodyInit;
  /** Whether its answer is awaited for a moment after an interruption: it names what is to be cancelled. */
  lingers?: boolean;
  /** Not to be sent again where the connection breaks: it may have arrived. */
  once?: boolean;
}

/** A gateway elsewhere. */
export type ServerClient = ReturnType<typeof createServerClient>;

/** Tries of one request. Two minutes of a gateway that restarts, or of a tenant's rate, must not end a thousand files' work. */
const mostTries = 12;
const longestWaitMs = 30_000;
const cancelMs = 2_000;
const lingerMs = 5_000;

/** Makes a client of a gateway's API, whose address may have a path. */
export function createServerClient(url: string, key: string | undefined, signal: AbortSignal) {
  const base = url.endsWith('/') ? url.slice(0, -1) : url;
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };

  let hasAnswered = false;

  async function once(
    path: string,
    { method = 'GET', headers = {}, body, lingers }: ServerRequest,
    ended = lingers ? delayed(signal, lingerMs) : signal,
  ): Promise<ServerAnswer> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...(body ? { body: body() } : {}),
      // Wherever it leads, the key is for this address.
      redirect: 'error',
      signal: ended,
    });
    const { status, headers: answered } = response;
    return { status, headers: answered, bytes: new Uint8Array(await response.arrayBuffer()) };
  }

  /** Sends a request, again where the gateway has no time or is away; throws where it is never reached. */
  async function send(path: string, request: ServerRequest = {}): Promise<ServerAnswer> {
    for (let tried = 1; ; tried += 1) {
      const answer = await once(path, request).catch((error) => {
        if (signal.aborted) throw signal.reason;
        // An address that has never answered is a mistake, not an outage.
        if (tried === mostTries || !hasAnswered || request.once) throw unreachable(base, error);
        return undefined;
      });
      hasAnswered ||= answer !== undefined;
      if (answer && (tried === mostTries || !isForLater(answer))) return answer;
      await sleep(waitMs(answer, tried), undefined, { signal });
    }
  }

  return {
    send,
    /** The same for a JSON answer: its data. Throws the error that the envelope holds. */
    async data(path: string, request?: ServerRequest): Promise<Record<string, unknown>> {
      const answer = await send(path, request);
      const { body } = envelopeOf(answer, base);
      if (body.ok) return body.data as Record<string, unknown>;
      throw errorOf(body, answer.status);
    },
    /** Sends a DELETE, with a short timeout of its own, after an interruption too. Never rejects. */
    async cancel(path: string): Promise<void> {
      await once(path, { method: 'DELETE' }, AbortSignal.timeout(cancelMs)).catch(() => undefined);
    },
  };
}

/** Aborts that much later. */
function delayed(signal: AbortSignal, ms: number): AbortSignal {
  if (signal.aborted) return signal;
  const later = new AbortController();
  const abort = () => void setTimer(() => later.abort(signal.reason), ms).unref();
  signal.addEventListener('abort', abort, { once: true });
  return later.signal;
}

/** Whether a retry is worth its wait: a quota that is used up until next month is reported at once. */
function isForLater({ status, headers }: ServerAnswer): boolean {
  if (status !== 429 && status !== 503) return false;
  const asked = headers.get('retry-after');
  // It may be a date, too.
  return asked !== null && !(Number(asked) * 1000 > mostTries * longestWaitMs);
}

function waitMs(answer: ServerAnswer | undefined, tried: number): number {
  const asked = Number(answer?.headers.get('retry-after')) * 1000;
  return Math.min(longestWaitMs, asked > 0 ? asked : 250 * 2 ** tried);
}

function unreachable(base: string, error: unknown): GatewayError {
  const { cause, message } = error as { cause?: Error; message: string };
  return new GatewayError('upstream_failed', {
    message: `No gateway can be reached at ${base}: ${cause?.message || message}`,
    cause: error,
  });
}

/** A JSON answer's envelope and its `meta`. */
function envelopeOf(
  { bytes, status }: ServerAnswer,
  base: string,
): { body: { ok: boolean; data?: unknown; error?: RemoteError }; meta: Meta } {
  try {
    const body = JSON.parse(Buffer.from(bytes).toString());
    if (typeof body.ok === 'boolean' && body.meta) return { body, meta: body.meta };
  } catch {
    // Not written by a gateway; reported below.
  }
  const message = `The answer of ${base} (status ${status}) is not a gateway's: that URL is none, or a proxy stands before it.`;
  throw new GatewayError(status === 413 ? 'too_large' : 'upstream_failed', { message });
}

interface RemoteError {
  code: string;
  message: string;
  details?: { field: string; problem: string }[];
}

/** The error of an envelope as an error of this process. */
function errorOf({ error }: { error?: RemoteError }, status: number): GatewayError {
  const { code = '', message = `The gateway answered with status ${status}.`, details } = error ?? {};
  // The gateway's own words name what a url has, and here there is an option.
  if (code === 'key_missing') {
    const wanted = 'The gateway wants an API key: set HELPER_KEY, or give it as --key KEY.';
    return new GatewayError(code, { message: wanted });
  }
  const known: ErrorCode = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'upstream_failed';
  return new GatewayError(known, { message, ...(details ? { details } : {}) });
}

/** A call as a request: a form, with files beside its fields where there are some. Throws what is wrong with the words already. */
export function toRequest({ query, uploads }: GivenInput): { method: string; body: () => BodyInit } {
  if (query && query.problems.length > 0) throw inputError([...query.problems]);
  const values = [...(query?.values ?? [])];
  const body = uploads?.size ? multipart(values, uploads) : new URLSearchParams(values);
  return { method: 'POST', body: () => body };
}

/** A multipart body, with its boundary in its type. `FormData` would write every line end of a text as CR LF. */
export function multipart(
  values: Iterable<readonly [name: string, text: string]>,
  files: Iterable<readonly [field: string, file: FileBytes]>,
): Blob {
  const boundary = `form-${randomUUID()}`;
  const head = (name: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${more}\r\n\r\n`;
  const parts: BlobPart[] = [];
  for (const [name, text] of values) parts.push(head(name), text, '\r\n');
  for (const [field, { bytes, type, name = field }] of files) {
    const more = `; filename="${escaped(name)}"\r\nContent-Type: ${type}`;
    parts.push(head(field, more), bytes as BlobPart, '\r\n');
  }
  return new Blob([...parts, `--${boundary}--\r\n`], { type: `multipart/form-data; boundary=${boundary}` });
}

/** As browsers write a name. */
function escaped(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** A helper's answer in the form of a call in this process. */
export function serverReply(answer: ServerAnswer): Reply {
  const type = answer.headers.get('content-type') ?? '';
  if (answer.status < 300 && !/^application\/json\b/i.test(type)) {
    const meta = { service: null, dryrun: false, request_id: answer.headers.get('x-request-id') ?? '' };
    const { bytes } = answer;
    return { ok: true, ms: 0, meta, answer: { kind: 'bytes', bytes, type: type.split(';', 1)[0] as string } };
  }
  const { body, meta } = envelopeOf(answer, 'the address');
  if (!body.ok) return { ok: false, meta, error: errorOf(body, answer.status) };
  return { ok: true, ms: 0, meta, answer: { kind: 'json', text: JSON.stringify(body.data) } };
}

/** What a gateway's document says of one of its helpers, as far as a command line needs it. */
export interface ServedHelper {
  id: string;
  summary: string;
  /** Names and descriptions of its parameters. */
  parameters: { name: string; description: string; isBoolean: boolean }[];
  files: Pick<FileField, 'field' | 'parameter' | 'types'>[];
  form: AnswerForm;
  /** Whether a call may not be sent again after its connection broke: it may have changed something. */
  once: boolean;
}

interface Schema {
  type?: unknown;
  default?: unknown;
  description?: string;
  format?: string;
  contentMediaType?: string;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
}

interface Operation {
  summary?: string;
  parameters?: { name?: string; in?: string; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  'x-effects'?: boolean;
  'x-idempotent'?: boolean;
  responses?: Record<string, { content?: Record<string, unknown> } | undefined>;
}

/** Paths of the gateway's own that accept both methods, as helpers do. */
const ownPath = /^\/jobs(?:\/|$)/;
/** No name of a file: those have a dot. */
const mayBeId = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*$/;

/** Reads the helpers from the OpenAPI document. Without one (`HELPER_DOCS=off`) any possible id counts as a helper. */
export async function readServedHelpers(
  client: ServerClient,
): Promise<Pick<CallTarget, 'list'> & { find(id: string): ServedHelper | undefined }> {
  const { status, bytes } = await client.send('/openapi.json');
  // Nothing is known of its answers, so a format that is named is believed.
  const form = { onlyData: false, pictures: true };
  const unknown = {
    summary: '',
    parameters: [],
    files: [{ field: 'file', parameter: 'url' }],
    form,
    once: false,
  };
  if (status === 404) return { list: [], find: (id) => (mayBeId.test(id) ? { id, ...unknown } : undefined) };
  if (status !== 200) throw noDocument(status);
  let document: { paths?: Record<string, { get?: Operation; post?: Operation } | undefined> };
  try {
    document = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw noDocument(status);
  }
  const found = new Map<string, ServedHelper>();
  for (const [path, { get, post } = {}] of Object.entries(document.paths ?? {})) {
    const isHelper = (get || post?.['x-effects']) && post && !ownPath.test(path);
    if (isHelper) found.set(path.slice(1), readHelper(path.slice(1), get, post));
  }
  return { list: [...found.values()], find: (id) => found.get(id) };
}

/** Parameters as of GET, or of the form of a helper that accepts POST alone. */
function parametersOf(get: Operation | undefined, post: Operation): NonNullable<Operation['parameters']> {
  if (get) return get.parameters ?? [];
  const form = post.requestBody?.content?.['application/x-www-form-urlencoded']?.schema;
  return propertiesOf(form).map(([name, schema]) => ({ ...schema, name, in: 'query', schema }));
}

function readHelper(id: string, get: Operation | undefined, post: Operation): ServedHelper {
  const declared = parametersOf(get, post);
  const parameters = declared.flatMap(({ name, in: place, description = '', schema }) =>
    name !== undefined && place === 'query' && name !== 'ak'
      ? [{ name, description, isBoolean: schema?.type === 'boolean' }]
      : [],
  );
  const names = new Set(parameters.map(({ name }) => name));
  const fields = propertiesOf(post.requestBody?.content?.['multipart/form-data']?.schema);
  const files = fields.flatMap(([field, { format, contentMediaType }]) => {
    if (format !== 'binary') return [];
    const parameter = [field === 'file' ? 'url' : `${field}_url`, field].find((name) => names.has(name));
    const types = contentMediaType ? { types: [contentMediaType] } : {};
    return [{ field, parameter: parameter ?? field, ...types }];
  });
  const types = Object.keys(post.responses?.[200]?.content ?? {});
  const form = {
    onlyData: types.length > 0 && types.every((type) => type === 'application/json'),
    pictures: types.some((type) => type.startsWith('image/')),
    defaultFormat: declared.find(({ name }) => name === 'format')?.schema?.default,
  };
  const once = post['x-effects'] === true && post['x-idempotent'] !== true;
  return { id, summary: post.summary ?? '', parameters, files, form, once };
}

function propertiesOf({ properties = {}, allOf = [] }: Schema = {}): [string, Schema][] {
  return [...Object.entries(properties), ...allOf.flatMap(propertiesOf)];
}

function noDocument(status: number): GatewayError {
  const message = `That URL is not a helper-gateway: its /openapi.json has status ${status}.`;
  return new GatewayError('upstream_failed', { message });
}
