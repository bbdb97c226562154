/** A JSON Schema object as it comes out of a plugin: nothing is known about its keywords. */
export type JsonSchema = Record<string, unknown>;

/** Whether `value` is an object, not a list or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a schema; boolean schemas and what is no schema are the empty one. */
export function asSchema(value: unknown): JsonSchema {
  return isObject(value) ? value : {};
}

/**
 * The types that a schema allows, in its own order: of `type`, else of the values of `const` and `enum`, else of its
 * alternatives. Empty where it does not say, or says so behind a `$ref`.
 */
export function typesOf(schema: JsonSchema): string[] {
  if (typeof schema.type === 'string') return [schema.type];
  if (Array.isArray(schema.type)) return schema.type.filter((type) => typeof type === 'string');
  if ('const' in schema) return [typeOfValue(schema.const)];
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOfValue))];
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((each) =>
    Array.isArray(each) ? each : [],
  );
  return [...new Set(branches.flatMap((branch) => typesOf(asSchema(branch))))];
}

const localReference = /^#\/(definitions|\$defs)\/([^/]+)$/;
const longestChain = 10;

/** The name of a `$ref` to one of the schema's own definitions, and the keyword under which they stand. */
export function localDefinition(schema: JsonSchema): { keyword: string; name: string } | undefined {
  const match = typeof schema.$ref === 'string' ? localReference.exec(schema.$ref) : null;
  if (match === null) return undefined;
  const [, keyword = '', token = ''] = match;
  try {
    return { keyword, name: unescapePointer(decodeURIComponent(token)) };
  } catch {
    return undefined;
  }
}

/** What a `$ref` to one of `root`'s own definitions points to, through at most ten of them; any other schema is itself. */
export function followReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let step = 0; step < longestChain; step += 1) {
    const to = localDefinition(current);
    if (to === undefined) return current;
    current = asSchema(asSchema(root[to.keyword])[to.name]);
  }
  return current;
}

/** One token of a JSON pointer as the name that it stands for. */
export function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A name as one token of a JSON pointer. */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Keywords that offer alternatives. */
export const choices: readonly string[] = ['anyOf', 'oneOf'];

/** The name of a JSON value's type. */
export function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}
