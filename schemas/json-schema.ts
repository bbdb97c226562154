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

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}
