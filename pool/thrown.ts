import { inspect } from 'node:util';

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
const mostErrors = 20;
const mostDetails = 100;
const mostCharacters = 8_000;

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

/** `seen` is what was read before: an error may cause itself. */
function readOnce(thrown: unknown, seen: Set<unknown>): Thrown {
  try {
    return read(thrown, seen);
  } catch {
    return { message: 'something was thrown that cannot be read' };
  }
}

function read(thrown: unknown, seen: Set<unknown>): Thrown {
  if (typeof thrown !== 'object' || thrown === null) return { message: cut(String(thrown)) };
  seen.add(thrown);
  const { name, code, message, expose, details, stack } = thrown as Record<string, unknown>;
  return {
    ...(typeof name === 'string' ? { name: cut(name) } : {}),
    ...(typeof code === 'string' ? { code: cut(code) } : {}),
    // What comes from Node's loader thread has lost its message on Node 20.
    message: cut(String(message ?? code ?? inspect(thrown, { maxArrayLength: 10, maxStringLength: 200 }))),
    ...(expose === true ? { expose } : {}),
    ...(Array.isArray(details) ? { details: JSON.parse(JSON.stringify(details.slice(0, mostDetails))) } : {}),
    ...(typeof stack === 'string' ? { stack: cut(stack) } : {}),
    ...readCauses(thrown, seen),
  };
}

/** Apart from the rest, which must not be lost with them. */
function readCauses(thrown: object, seen: Set<unknown>): Pick<Thrown, 'causes'> {
  try {
    const { cause, errors } = thrown as { cause?: unknown; errors?: unknown };
    const all = [cause, ...(Array.isArray(errors) ? errors.slice(0, mostErrors) : [])];
    const causes = all.flatMap((one) =>
      one === undefined || one === null || seen.has(one) || seen.size >= mostErrors
        ? []
        : [readOnce(one, seen)],
    );
    return causes.length > 0 ? { causes } : {};
  } catch {
    return {};
  }
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
}
