import { scanJson } from '../input/json-scan.js';
import { asSchema, isObject, type JsonSchema, typesOf } from '../json-schema.js';

/** Reads the text of a query or form value; text that does not fit stays a string, for validation to name. */
export type Coerce = (text: string) => unknown;

const decimal = /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;
const longestNumber = 1000;
const longestChain = 10;
const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/**
 * The reader for one property by the types that its schema declares. Numbers: decimal notation, finite. Booleans:
 * `true 1 false 0`. Lists: comma-separated, spaces around an item dropped, the empty text is the empty list; lists of
 * lists or objects, and objects, are JSON. Where several types are declared: number, then boolean, then list or object
 * unless a string is allowed too.
 */
export function createCoerce(schema: JsonSchema, root: JsonSchema): Coerce {
  const resolved = resolve(schema, root);
  const types = new Set(typesOf(resolved));
  const readers: Coerce[] = [];
  if (types.has('integer') || types.has('number')) readers.push(readNumber);
  if (types.has('boolean')) readers.push((text) => booleans.get(text));
  if (!types.has('string')) {
    if (types.has('array')) readers.push(listReader(resolved, root));
    if (types.has('object')) readers.push((text) => readJson(text, isObject));
  }
  return function coerce(text) {
    for (const read of readers) {
      const value = read(text);
      if (value !== undefined) return value;
    }
    return text;
  };
}

function readNumber(text: string): number | undefined {
  if (text.length > longestNumber || !decimal.test(text)) return undefined;
  const number = Number(text);
  // Adding 0 makes the -0 of "-0" a plain one.
  return Number.isFinite(number) ? number + 0 : undefined;
}

function listReader(schema: JsonSchema, root: JsonSchema): Coerce {
  const item = resolve(asSchema(schema.items), root);
  const itemTypes = typesOf(item);
  if (itemTypes.includes('object') || itemTypes.includes('array'))
    return (text) => readJson(text, Array.isArray);
  const coerceItem = createCoerce(item, root);
  return (text) => (text === '' ? [] : text.split(',').map((part) => coerceItem(part.trim())));
}

function readJson(text: string, fits: (value: unknown) => boolean): unknown {
  // What is refused here stays text, which validation names.
  if ('problem' in scanJson(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return fits(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let step = 0; step < longestChain; step += 1) {
    const match = typeof current.$ref === 'string' && /^#\/(definitions|\$defs)\/([^/]+)$/.exec(current.$ref);
    if (!match) return current;
    current = asSchema(asSchema(root[match[1] ?? ''])[match[2] ?? '']);
  }
  return current;
}
