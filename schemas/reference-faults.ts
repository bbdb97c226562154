import { isObject, type JsonSchema, unescapePointer } from './json-schema.js';
import { quote } from './quote.js';
import { subschemas } from './subschemas.js';

/** What stands under these judges the same value. */
export const sameValueKeywords: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
]);

/** What is wrong with the `$ref` of `part`, a schema inside of `root`; undefined where it leads somewhere, or nowhere that is known here. */
export function referenceFault(part: JsonSchema, root: JsonSchema): string | undefined {
  const { $ref } = part;
  if (typeof $ref !== 'string') return undefined;
  if ($ref === '#' || $ref === '#/') {
    return 'points to the whole input, which cannot hold itself; point to a part under "definitions"';
  }
  if (isEndlessReference(part, root)) return 'leads back to itself, so that judging would never end';
  const to = follow($ref, root);
  return isObject(to) || typeof to === 'boolean' || isIdentified($ref, root)
    ? undefined
    : `points to nothing: ${quote($ref)}; only what is under "definitions" or "$defs" of the same input can be found`;
}

/** What a pointer into `root` leads to, of its own properties. */
function follow(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const token of reference.slice(2).split('/')) {
    const key = nameOf(token);
    if (key === undefined || typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) {
      return undefined;
    }
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

function nameOf(token: string): string | undefined {
  try {
    return unescapePointer(decodeURIComponent(token));
  } catch {
    return undefined;
  }
}

/** Whether a part has an `$id` that may be meant; ajv knows how these are resolved. */
function isIdentified(reference: string, root: JsonSchema): boolean {
  return subschemas(root).some(
    ({ schema }) =>
      (typeof schema.$id === 'string' && isMeant(schema.$id, reference)) || isIdentified(reference, schema),
  );
}

function isMeant($id: string, reference: string): boolean {
  const [address = ''] = reference.split('#');
  return $id === reference || $id.endsWith(address === '' ? reference : address);
}

/** Whether a value that is judged where `part` has its `$ref` to would be judged by `part` again, and so on for ever. */
export function isEndlessReference(part: JsonSchema, root: JsonSchema): boolean {
  const seen = new Set<JsonSchema>();
  const waiting = targets(part, root);
  for (let schema = waiting.pop(); schema; schema = waiting.pop()) {
    if (schema === part) return true;
    if (seen.has(schema)) continue;
    seen.add(schema);
    for (const { keyword, schema: inner } of subschemas(schema)) {
      if (sameValueKeywords.has(keyword)) waiting.push(inner);
    }
    waiting.push(...targets(schema, root));
  }
  return false;
}

function targets({ $ref }: JsonSchema, root: JsonSchema): JsonSchema[] {
  const to = typeof $ref === 'string' ? follow($ref, root) : undefined;
  return isObject(to) ? [to] : [];
}
