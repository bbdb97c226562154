import { noDeclaration } from '../../schemas/declared-helper.js';
import { isObject } from '../../schemas/json-schema.js';
import { describeValue } from '../../schemas/quote.js';

/**
 * A plugin's default export as it is sent between threads: the names of its functions, and the rest as data. Functions inside the data
 * are refused.
 */
export interface PortableDeclaration {
  data: unknown;
  functions: string[];
}

/** Throws, with the place, where the export contains functions below its top level. */
export function toPortable(exported: unknown): PortableDeclaration {
  if (!isObject(exported)) throw new Error(noDeclaration(exported));
  const entries = Object.entries(exported);
  const isFunction = ([, value]: [string, unknown]) => typeof value === 'function';
  const data = Object.fromEntries(entries.filter((entry) => !isFunction(entry)));
  const code = placeOfCode(data, '', new Set());
  if (code !== undefined) throw new Error(`${code}, but must be data`);
  return {
    data,
    functions: entries.filter(isFunction).map(([name]) => name),
  };
}

/** The first value that cannot be sent to another thread, as `config.key is a function`. */
function placeOfCode(value: unknown, path: string, seen: Set<unknown>): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `${path} is ${describeValue(value)}`;
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, part] of Object.entries(value)) {
    const found = placeOfCode(part, path === '' ? name : `${path}.${name}`, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The export with its functions replaced by ones that throw. */
export function fromPortable({ data, functions }: PortableDeclaration): unknown {
  if (functions.length === 0) return data;
  return { ...(data as object), ...Object.fromEntries(functions.map((name) => [name, notHere])) };
}

function notHere(): never {
  throw new Error('this function is in another thread');
}
