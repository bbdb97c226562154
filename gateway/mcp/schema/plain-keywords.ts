import { isObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { mapSubschemas } from '../../../schemas/subschemas.js';

/**
 * The schema and all inside of it in keywords that every client of agents reads: a choice as the list of its spellings, a colour
 * and what can be drawn as texts that their descriptions tell of, and several types as `anyOf`, for clients warn of a list of
 * types. It says less than the helper judges by, which tells the rest in its errors.
 */
export function plainKeywords(schema: JsonSchema): JsonSchema {
  const inner = mapSubschemas(schema, (found) => plainKeywords(found.schema));
  const { color: _c, drawable: _d, fraction: _f, choice, nullable, type, ...plain } = inner;
  const chosen = isObject(choice) ? { ...plain, enum: Object.entries(choice).flat(2) } : plain;
  const types = [type].flat().filter((each) => each !== undefined);
  if (nullable !== true || types.length === 0) return withTypes(chosen, types);
  const all = [...new Set([...types, 'null'])];
  return withTypes(Array.isArray(chosen.enum) ? { ...chosen, enum: [...chosen.enum, null] } : chosen, all);
}

function withTypes(schema: JsonSchema, types: readonly unknown[]): JsonSchema {
  if (types.length === 0) return schema;
  if (types.length === 1) return { type: types[0], ...schema };
  const anyOf = types.map((type) => ({ type }));
  if (schema.anyOf === undefined) return { anyOf, ...schema };
  return { ...schema, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), { anyOf }] };
}
