import { isObject, type JsonSchema, unescapePointer } from '../../../../schemas/json-schema.js';
import { subschemas } from '../../../../schemas/subschemas.js';
import { tryUrl } from '../../../../schemas/try-url.js';

/** What a `$ref` leads to, and a name for it. */
export interface Target {
  schema: unknown;
  name: string;
}

/** Against it relative addresses are resolved, where a schema has none; it is never fetched. */
const home = 'https://schema.invalid/';

/**
 * Finds what the references inside of `root` lead to, as draft-07 says: by pointers, by `$id`, and by an `$id` that is a
 * fragment. The returned function takes the schema in which a `$ref` stands, one of `root`'s own objects.
 */
export function createReferences(root: JsonSchema): (schema: JsonSchema) => Target | undefined {
  const bases = new Map<JsonSchema, string>();
  const named = new Map<string, JsonSchema>([[home, root]]);
  visit(root, home);

  function visit(schema: JsonSchema, around: string): void {
    const { $id } = schema;
    const own = typeof $id === 'string' && schema !== root ? resolve($id, around) : undefined;
    if (own !== undefined) named.set(own.replace(/#$/, ''), schema);
    const base = own === undefined || own.includes('#') ? around : own;
    bases.set(schema, base);
    for (const { schema: inner } of subschemas(schema)) visit(inner, base);
  }

  return function targetOf(schema) {
    if (typeof schema.$ref !== 'string') return undefined;
    const full = resolve(schema.$ref, bases.get(schema) ?? home);
    if (full === undefined) return undefined;
    const [address = '', fragment = ''] = full.split('#');
    const whole = named.get(address);
    if (fragment === '') return whole && { schema: whole, name: lastOf(address) };
    if (!fragment.startsWith('/')) {
      const found = named.get(full);
      return found && { schema: found, name: fragment };
    }
    const tokens = fragment
      .slice(1)
      .split('/')
      .map((token) => unescapePointer(decodeURIComponent(token)));
    return whole && { schema: follow(whole, tokens), name: nameOf(tokens) };
  };
}

function resolve(reference: string, base: string): string | undefined {
  return tryUrl(reference, base)?.href;
}

function follow(schema: JsonSchema, tokens: readonly string[]): unknown {
  return tokens.reduce<unknown>((found, token) => {
    if (Array.isArray(found)) return found[Number(token)];
    return isObject(found) && Object.hasOwn(found, token) ? found[token] : undefined;
  }, schema);
}

/** A definition is called by its name, another part by its way there. */
function nameOf(tokens: readonly string[]): string {
  const [first, name] = tokens;
  return tokens.length === 2 && (first === 'definitions' || first === '$defs')
    ? String(name)
    : tokens.join('.');
}

function lastOf(address: string): string {
  return address.slice(address.lastIndexOf('/') + 1) || 'schema';
}
