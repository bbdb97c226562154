import type { FieldProblem } from '../schemas/field-problem.js';

export interface ErrorEntry {
  status: number;
  /** Public text, unless the thrower has a more exact one. */
  message: string;
  /** Seconds for `Retry-After`, where trying again later is the right thing to do. */
  retryAfter?: number;
  /** No fault although 5xx: logged like any call, without a stack. */
  routine?: true;
  /** Who below the gateway may end a call by an error with this code. All else that is thrown there is a fault. */
  raisedBy?: 'pool' | 'handler';
  /** Its code there, where that differs. */
  raisedAs?: string;
  /** What of such an error is public: `exposed` ones, and the message of `exact` ones, with `expose: true` alone. */
  publishes?: 'message' | 'details' | 'exposed' | 'exact';
}

/** Every error the gateway answers with: its code, its status and its public message. No status stands elsewhere. */
export const errorTable = {
  invalid_input: {
    status: 400,
    message: 'The input is not valid; see details.',
    raisedBy: 'handler',
    publishes: 'details',
  },
  source_refused: {
    status: 400,
    message:
      'This url may not be fetched. Use https on port 443 of a host with a public address, without a user name or password.',
  },
  bad_request: { status: 400, message: 'The request is not HTTP that can be read.' },
  key_missing: {
    status: 401,
    message: 'Send your API key in the query parameter ak, or in the header Authorization: Bearer KEY.',
  },
  key_invalid: { status: 401, message: 'This API key is not known. Check that it was copied whole.' },
  key_expired: {
    status: 401,
    message: 'This API key has expired. Use the key that replaced it or ask for a new one.',
  },
  key_revoked: { status: 401, message: 'This API key was revoked. Ask for a new one.' },
  unauthorized: { status: 401, message: 'Sign in, or send the operator token as Authorization: Bearer.' },
  key_paused: {
    status: 403,
    message: 'This API key is paused. Who manages it can resume it on the key-management site.',
  },
  tenant_suspended: {
    status: 403,
    message: 'This tenant is suspended: none of its calls is answered. Ask the operator of this gateway.',
  },
  scope_denied: { status: 403, message: 'This API key may not call this helper.' },
  signature_invalid: {
    status: 403,
    message: 'The signature of this url is not valid. Sign the url again, or call the helper with a key.',
  },
  signature_expired: { status: 403, message: 'This signed url has expired. Ask for a new one.' },
  forbidden: { status: 403, message: 'You may not do this here.' },
  not_found: {
    status: 404,
    message: 'Nothing is served at this path.',
    raisedBy: 'handler',
    publishes: 'exposed',
  },
  method_not_allowed: { status: 405, message: 'This path does not take this method; see the Allow header.' },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  exists: { status: 409, message: 'This name is already taken.' },
  conflict: {
    status: 409,
    message: 'As things are, this cannot be.',
    raisedBy: 'handler',
    publishes: 'exposed',
  },
  too_large: {
    status: 413,
    message: 'The request body is larger than this gateway accepts.',
    raisedBy: 'handler',
    // Of its answer: the body has been read by then.
    raisedAs: 'result_too_large',
    publishes: 'message',
  },
  unsupported_media_type: {
    status: 415,
    message:
      'Send application/json, application/x-www-form-urlencoded or multipart/form-data, not compressed.',
  },
  bad_image: {
    status: 422,
    message: 'This is not an image that can be decoded. Send a JPEG, PNG, WebP, GIF or still AVIF.',
    raisedBy: 'handler',
    publishes: 'message',
  },
  image_too_large: {
    status: 422,
    message: 'The image is larger than this gateway accepts.',
    raisedBy: 'handler',
    publishes: 'message',
  },
  rate_limited: { status: 429, message: 'Too many requests; wait before the next one.', retryAfter: 1 },
  quota_exceeded: { status: 429, message: 'The quota of this tenant is used up.', retryAfter: 3600 },
  tenant_busy: {
    status: 429,
    message: 'Too many of your requests are waiting already; send the next when one has been answered.',
    retryAfter: 1,
    raisedBy: 'pool',
  },
  headers_too_large: {
    status: 431,
    message: 'The request line and headers are too large; send long values in a POST body.',
  },
  internal: { status: 500, message: 'The helper failed. This is a fault here, not in your request.' },
  source_failed: { status: 502, message: 'The url could not be fetched.' },
  upstream_failed: {
    status: 502,
    message: 'A server that this call needs did not answer as it should.',
    raisedBy: 'handler',
    publishes: 'exposed',
  },
  busy: {
    status: 503,
    message: 'All workers are busy and the queue is full.',
    retryAfter: 1,
    routine: true,
    raisedBy: 'pool',
    publishes: 'exact',
  },
  shutting_down: {
    status: 503,
    message: 'This gateway is shutting down.',
    retryAfter: 5,
    routine: true,
    raisedBy: 'pool',
  },
  keys_unavailable: { status: 503, message: 'API keys cannot be checked at the moment.', retryAfter: 5 },
  storage_unavailable: {
    status: 503,
    message:
      'What this needs is not available at the moment: the queue of jobs, or the store of their results.',
    retryAfter: 5,
  },
  source_timeout: { status: 504, message: 'The server behind the url did not deliver in time.' },
  helper_timeout: {
    status: 504,
    message: 'The helper took too long and was stopped. Send a smaller input.',
    raisedBy: 'handler',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

interface GatewayErrorOptions {
  /** Public text in place of the table's. */
  message?: string;
  details?: FieldProblem[];
  /** Whole seconds for `Retry-After` in place of the table's. */
  retryAfter?: number;
  headers?: Record<string, string>;
  /** The internal reason: logged, never sent. */
  cause?: unknown;
  /** It repeats an earlier failure, which was logged and counted then: no fault of this request. */
  past?: true;
}

/** An answer that is not a success. `message` is public; what is internal goes into `cause`. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: FieldProblem[] | undefined;
  readonly retryAfter: number | undefined;
  readonly headers: Record<string, string>;
  readonly isPast: boolean;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    const entry: ErrorEntry = errorTable[code];
    const { stackTraceLimit } = Error;
    // A refusal's stack is shown nowhere, and costs as much as checking a key.
    if (entry.status < 500 || entry.routine || options.past) Error.stackTraceLimit = 0;
    super(options.message ?? onlyProblem(code, options.details) ?? entry.message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'GatewayError';
    this.code = code;
    this.details = options.details;
    this.retryAfter = options.retryAfter ?? (options.past ? undefined : entry.retryAfter);
    this.headers = options.headers ?? {};
    this.isPast = options.past === true;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  /** Whether something is broken, here or behind a url, that must be logged. */
  get isFault(): boolean {
    const entry: ErrorEntry = errorTable[this.code];
    return entry.status >= 500 && !entry.routine && !this.isPast;
  }
}

/** The only problem of the input as the message: most people read no further. */
function onlyProblem(code: ErrorCode, details: readonly FieldProblem[] = []): string | undefined {
  const [only, ...others] = details;
  return code === 'invalid_input' && only && others.length === 0 ? sentenceOf(only) : undefined;
}

/** A problem with its field, such as `width must be an integer`. */
export function sentenceOf({ field, problem }: FieldProblem): string {
  return `${field === '*' ? 'The input' : field} ${problem}`;
}

export function inputError(details: FieldProblem[], cause?: unknown): GatewayError {
  return new GatewayError('invalid_input', { details, cause });
}

/** The value, or throws `invalid_input` with each problem. */
export function requireValid<T>({ value, problems }: { value: T; problems: FieldProblem[] }): T {
  if (problems.length > 0) throw inputError(problems);
  return value;
}

/** Characters of an author's message: it goes into logs and terminals. */
const mostCharacters = 1_000;

/** What may be raised below the gateway, by its code there. */
const raisable = new Map<unknown, { code: ErrorCode; entry: ErrorEntry }>();
for (const [code, entry] of Object.entries<ErrorEntry>(errorTable)) {
  if (entry.raisedBy) raisable.set(entry.raisedAs ?? code, { code: code as ErrorCode, entry });
}

/** The table's error for whatever was thrown in the gateway: its own, the pool's, a picture's, or a fault. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : toTableError(thrown, () => true);
}

/** The same for an error of a handler, which may blame the input but not the gateway; `refusal` is the gateway's error of its fetch. */
export function readHandlerError(thrown: object, refusal?: { code: string; message: string }): GatewayError {
  if (refusal && Object.hasOwn(errorTable, refusal.code)) {
    const { code, message } = refusal;
    return new GatewayError(
      code as ErrorCode,
      code === 'internal' ? { cause: thrown } : { message, cause: thrown },
    );
  }
  return toTableError(thrown, ({ raisedBy }) => raisedBy === 'handler');
}

function toTableError(cause: unknown, mayRaise: (entry: ErrorEntry) => boolean): GatewayError {
  const shape = (cause ?? {}) as Record<string, unknown>;
  const raised = raisable.get(shape.code);
  const published = raised && mayRaise(raised.entry) ? publicPart(raised.entry, shape) : undefined;
  if (!raised || !published) return new GatewayError('internal', { cause });
  const { retryAfter } = shape;
  return new GatewayError(raised.code, {
    ...published,
    ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
    cause,
  });
}

/** What is public of the error's own; undefined where it lacks what it should have. */
function publicPart({ publishes }: ErrorEntry, { message, details, expose }: Record<string, unknown>) {
  switch (publishes) {
    case 'exposed':
      return expose === true ? ownMessage(message) : undefined;
    case 'exact':
      return expose === true ? ownMessage(message) : {};
    case 'message':
      return { message: String(message) };
    case 'details':
      return Array.isArray(details) && details.every(isFieldProblem)
        ? { details: details.map(({ field, problem }) => ({ field: cut(field), problem: cut(problem) })) }
        : undefined;
    default:
      return {};
  }
}

/** The author's message; the table's where it is empty. */
function ownMessage(message: unknown) {
  const text = typeof message === 'string' ? message.trim() : '';
  return text === '' ? {} : { message: cut(text) };
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
}

function isFieldProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
