import { noDeclaration } from '../../schemas/declared-helper.js';
import { isObject } from '../../schemas/json-schema.js';
import { describeValue } from '../../schemas/quote.js';

/**
 * A plugin's default export as it travels between threads: its functions, which cannot, by their names, and the rest as data.
 * Only those that a declaration may have: a function anywhere else is told when the rest is sent.
 */
export interface PortableDeclaration {
  data: unknown;
  functions: string[];
}

/** Takes an export apart in the thread that has imported it. Throws, with the place, where it holds more than data elsewhere. */
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

/** The first value in data that no other thread can be given, as `config.key is a function`. */
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

/** Puts it together where it is looked at; its functions are no one's to call there. */
export function fromPortable({ data, functions }: PortableDeclaration): unknown {
  if (functions.length === 0) return data;
  return { ...(data as object), ...Object.fromEntries(functions.map((name) => [name, notHere])) };
}

function notHere(): never {
  throw new Error('this function is in another thread');
}
