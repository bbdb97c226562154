import { inspect } from 'node:util';

interface CodedErrorOptions {
  /** `[{field, problem}]`, for `invalid_input`. */
  details?: { field: string; problem: string }[];
  cause?: unknown;
}

/**
 * An error that is known by its `code`, not its class: a plugin has its own copy of every class, and none goes from thread to
 * thread. Which codes there are, and whether `message` is public, says the gateway's table.
 */
export function codedError(code: string, message: string, { details, cause }: CodedErrorOptions = {}): Error {
  return Object.assign(new Error(message, { cause }), { code }, details && { details });
}

interface PoolErrorOptions {
  retryAfter?: number;
  ms?: number;
  /** Whether `message` is meant for the caller. */
  expose?: boolean;
  cause?: unknown;
}

/** Why work in the pool was not done. `message` is internal, unless it says by `expose` that it is not. */
export class PoolError extends Error {
  readonly code: 'busy' | 'tenant_busy' | 'shutting_down' | 'helper_timeout' | 'internal';
  /** Whole seconds after which a slot is likely to be free, for the codes that ask to come back. */
  readonly retryAfter: number | undefined;
  readonly expose: boolean;
  /** Milliseconds that a thread spent before the task failed. */
  readonly ms: number;

  constructor(code: PoolError['code'], message: string, options: PoolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'PoolError';
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.expose = options.expose ?? false;
    this.ms = options.ms ?? 0;
  }
}

/** The error of work that came, or waits, when the end has begun. */
export function noMoreWork(): PoolError {
  return new PoolError('shutting_down', 'the pool takes no more work');
}

/** An error as data: of one that is sent to another thread only the message would arrive. */
export interface Thrown {
  name?: string;
  code?: string;
  message: string;
  /** Whether its message is meant for the public. */
  expose?: true;
  details?: unknown;
  stack?: string;
  /**
   * Its `cause`, and the `errors` of an `AggregateError`. Not named as they are: pino would make one line of the first and
   * drop the others.
   */
  causes?: Thrown[];
}

/** Errors that are read of one, its causes included, its details, and characters of each text: the log has to hold them. */
const maxErrors = 20;
const maxDetails = 100;
const maxCharacters = 8_000;

/**
 * Reads by shape what a plugin has thrown: it may have its own copy of a class, or throw anything at all, also what throws
 * again where it is read. The log must never meet that itself.
 */
export function readThrown(thrown: unknown): Thrown {
  return readOnce(thrown, new Set());
}

/** As lines of text, for where no log takes data. */
export function describeThrown({ name, message, stack, causes = [] }: Thrown): string {
  const own = stack ?? (name === undefined ? message : `${name}: ${message}`);
  return [own, ...causes.map((cause) => `caused by ${describeThrown(cause)}`)].join('\n');
}

/** The same without stacks, for a line that an operator reads. */
export function describeReason({ name = 'a value', message, causes = [] }: Thrown): string {
  return [`${name}: ${message}`, ...causes.map((cause) => `caused by ${describeReason(cause)}`)].join('\n');
}

/** `seen` is what was read before: an error may cause itself. */
function readOnce(thrown: unknown, seen: Set<unknown>): Thrown {
  try {
    if (typeof thrown !== 'object' || thrown === null) return { message: truncate(String(thrown)) };
    seen.add(thrown);
    const { name, code, message, expose, details, stack } = thrown as Record<string, unknown>;
    return {
      ...(typeof name === 'string' && { name: truncate(name) }),
      ...(typeof code === 'string' && { code: truncate(code) }),
      // What comes from Node's loader thread has lost its message on Node 20.
      message: truncate(
        String(message ?? code ?? inspect(thrown, { maxArrayLength: 10, maxStringLength: 200 })),
      ),
      ...(expose === true && { expose }),
      ...(Array.isArray(details) && { details: JSON.parse(JSON.stringify(details.slice(0, maxDetails))) }),
      ...(typeof stack === 'string' && { stack: truncate(stack) }),
      ...readCauses(thrown, seen),
    };
  } catch {
    return { message: 'something was thrown that cannot be read' };
  }
}

/** Apart from the rest, which must not be lost with them. */
function readCauses(thrown: object, seen: Set<unknown>): Pick<Thrown, 'causes'> {
  try {
    const { cause, errors } = thrown as { cause?: unknown; errors?: unknown };
    const all = [cause, ...(Array.isArray(errors) ? errors.slice(0, maxErrors) : [])];
    const isSkipped = (one: unknown) =>
      one === undefined || one === null || seen.has(one) || seen.size >= maxErrors;
    const causes = all.flatMap((one) => (isSkipped(one) ? [] : [readOnce(one, seen)]));
    return causes.length > 0 ? { causes } : {};
  } catch {
    return {};
  }
}

function truncate(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)} …` : text;
}
