import type { FieldProblem } from '../schemas/field-problem.js';

/** What one code means. */
export interface ErrorEntry {
  status: number;
  /** Public text, used where the thrower has nothing more exact to say. */
  message: string;
  /** Seconds for `Retry-After`, where trying again later is the right thing to do. */
  retryAfter?: number;
  /** No fault of anybody's though 5xx: the log has a line as for any call, without a stack. */
  routine?: true;
  /**
   * Who below the gateway may end a call with it, by throwing an error of this code; it is told by its shape, for pool and
   * plugins have no part in the gateway's classes. What else they throw is a fault.
   */
  raisedBy?: 'pool' | 'handler';
  /** The code that it has there, where that is not its own. */
  raisedAs?: string;
  /**
   * What an error from below tells the public of its own; its message is internal else. An `exposed` one is told where it says so
   * by `expose: true`, and is a fault else: others use the same codes. For one that is only `exact` the table's stands then.
   */
  tells?: 'message' | 'details' | 'exposed' | 'exact';
}

/** Every error the gateway answers with: its code, its status and its public message. No status stands elsewhere. */
export const errorTable = {
  invalid_input: {
    status: 400,
    message: 'The input is not valid; see details.',
    raisedBy: 'handler',
    tells: 'details',
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
  unauthorized: {
    status: 401,
    message: 'Sign in, or send the operator token as Authorization: Bearer.',
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
    tells: 'exposed',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not take this method; see the Allow header.',
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  exists: { status: 409, message: 'This name is already taken.' },
  conflict: { status: 409, message: 'As things are, this cannot be.', raisedBy: 'handler', tells: 'exposed' },
  too_large: {
    status: 413,
    message: 'The request body is larger than this gateway accepts.',
    raisedBy: 'handler',
    // Of its answer: the body has been read by then.
    raisedAs: 'result_too_large',
    tells: 'message',
  },
  unsupported_media_type: {
    status: 415,
    message:
      'Send application/json, application/x-www-form-urlencoded or multipart/form-data, not compressed.',
  },
  bad_image: {
    status: 422,
    message: 'This is not an image that can be decoded. Send a JPEG, PNG, WebP or GIF.',
    raisedBy: 'handler',
    tells: 'message',
  },
  image_too_large: {
    status: 422,
    message: 'The image is larger than this gateway accepts.',
    raisedBy: 'handler',
    tells: 'message',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests; wait before the next one.',
    retryAfter: 1,
  },
  quota_exceeded: {
    status: 429,
    message: 'The quota of this tenant is used up.',
    retryAfter: 3600,
  },
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
  internal: {
    status: 500,
    message: 'The helper failed. This is a fault here, not in your request.',
  },
  source_failed: { status: 502, message: 'The url could not be fetched.' },
  upstream_failed: {
    status: 502,
    message: 'A server that this call needs did not answer as it should.',
    raisedBy: 'handler',
    tells: 'exposed',
  },
  busy: {
    status: 503,
    message: 'All workers are busy and the queue is full.',
    retryAfter: 1,
    routine: true,
    raisedBy: 'pool',
    tells: 'exact',
  },
  shutting_down: {
    status: 503,
    message: 'This gateway is shutting down.',
    retryAfter: 5,
    routine: true,
    raisedBy: 'pool',
  },
  keys_unavailable: {
    status: 503,
    message: 'API keys cannot be checked at the moment.',
    retryAfter: 5,
  },
  storage_unavailable: {
    status: 503,
    message:
      'What this needs is not available at the moment: the queue of jobs, or the store of their results.',
    retryAfter: 5,
  },
  source_timeout: {
    status: 504,
    message: 'The server behind the url did not deliver in time.',
  },
  helper_timeout: {
    status: 504,
    message: 'The helper took too long and was stopped. Send a smaller input.',
    raisedBy: 'handler',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

export interface GatewayErrorOptions {
  /** Public text in place of the table's. */
  message?: string;
  details?: FieldProblem[];
  /** Whole seconds for `Retry-After` in place of the table's. */
  retryAfter?: number;
  headers?: Record<string, string>;
  /** The internal reason: logged, never sent. */
  cause?: unknown;
  /** It is told again of what has failed before, and was logged and counted then: no fault of this request. */
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
    // Nobody is shown where a call was refused, and to note it costs as much as to check its key.
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

  /** Whether something is broken, here or behind a url, that the log has to tell of. */
  get isFault(): boolean {
    const entry: ErrorEntry = errorTable[this.code];
    return entry.status >= 500 && !entry.routine && !this.isPast;
  }
}

/** Of input with one thing wrong, what that is: most people read no further than the message. */
function onlyProblem(code: ErrorCode, details: readonly FieldProblem[] = []): string | undefined {
  const [only, ...others] = details;
  return code === 'invalid_input' && only && others.length === 0 ? sentenceOf(only) : undefined;
}

/** A problem with its field, as people read it: `width must be an integer`. */
export function sentenceOf({ field, problem }: FieldProblem): string {
  return `${field === '*' ? 'The input' : field} ${problem}`;
}

/** The error of input that is not valid: `invalid_input` with each of its problems. */
export function inputError(details: FieldProblem[], cause?: unknown): GatewayError {
  return new GatewayError('invalid_input', { details, cause });
}

/** What was judged, where nothing is wrong with it; throws `invalid_input` with each problem where something is. */
export function requireValid<T>({ value, problems }: { value: T; problems: FieldProblem[] }): T {
  if (problems.length > 0) throw inputError(problems);
  return value;
}

interface Raised {
  code: ErrorCode;
  entry: ErrorEntry;
}

/** Characters of an author's message: it goes into logs and terminals. */
const mostCharacters = 1_000;

/** What may be raised below the gateway, by the code that it has there. */
const raisable = new Map<unknown, Raised>();
for (const [code, entry] of Object.entries<ErrorEntry>(errorTable)) {
  if (entry.raisedBy) raisable.set(entry.raisedAs ?? code, { code: code as ErrorCode, entry });
}

/** The error of the table that anything is which was thrown in the gateway: its own, the pool's, a picture's, or a fault. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : toTableError(thrown, () => true);
}

/**
 * The same for what a helper's handler has thrown: it may say that the input is at fault, and nothing of the gateway, but for
 * what the gateway itself has told it of a fetch, its `refusal`.
 */
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
  const told = raised && mayRaise(raised.entry) ? publicPart(raised.entry, shape) : undefined;
  if (!raised || !told) return new GatewayError('internal', { cause });
  const { retryAfter } = shape;
  return new GatewayError(raised.code, {
    ...told,
    ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
    cause,
  });
}

/** What the public is told of the error's own; undefined where it does not hold what it should. */
function publicPart({ tells }: ErrorEntry, { message, details, expose }: Record<string, unknown>) {
  if (tells === 'exposed') return expose === true ? exposed(message) : undefined;
  if (tells === 'exact') return expose === true ? exposed(message) : {};
  if (tells === 'message') return { message: String(message) };
  if (tells !== 'details') return {};
  return Array.isArray(details) && details.every(isFieldProblem)
    ? { details: details.map(publicProblem) }
    : undefined;
}

/** The author's words, or the table's where there are none. */
function exposed(message: unknown) {
  const text = typeof message === 'string' ? message.trim() : '';
  if (text === '') return {};
  return { message: cut(text) };
}

/** Nothing else that an author has put beside them is meant for the public. */
function publicProblem({ field, problem }: FieldProblem): FieldProblem {
  return { field: cut(field), problem: cut(problem) };
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
}

function isFieldProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
