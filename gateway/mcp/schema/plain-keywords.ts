import { isObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { mapSubschemas } from '../../../schemas/subschemas.js';
import { isMeasure, type MeasureSetting } from '../../../schemas/vocabulary/measure.js';

/**
 * The schema and all inside of it in keywords that every client of agents reads: a choice as the list of its spellings, a colour
 * and what can be drawn as texts that their descriptions tell of, a measure as a number or a text, and several types as `anyOf`, for
 * clients warn of a list of types. It says less than the helper judges by, which tells the rest in its errors.
 */
export function plainKeywords(schema: JsonSchema): JsonSchema {
  const inner = mapSubschemas(schema, (found) => plainKeywords(found.schema));
  const { color: _c, drawable: _d, encodable: _e, fraction: _f, onlyWith: _o, ...others } = inner;
  const { choice, measure, nullable, type, ...plain } = others;
  const chosen = isObject(choice) ? { ...plain, enum: Object.entries(choice).flat(2) } : plain;
  const types = [type].flat().filter((each) => each !== undefined);
  if (isMeasure(measure)) {
    const isNull = nullable === true || types.includes('null');
    return withBranches(plain, [...measureOf(measure), ...(isNull ? [{ type: 'null' }] : [])]);
  }
  if (nullable !== true || types.length === 0) return withTypes(chosen, types);
  const all = [...new Set([...types, 'null'])];
  return withTypes(Array.isArray(chosen.enum) ? { ...chosen, enum: [...chosen.enum, null] } : chosen, all);
}

function withTypes(schema: JsonSchema, types: readonly unknown[]): JsonSchema {
  if (types.length === 0) return schema;
  if (types.length === 1) return { type: types[0], ...schema };
  return withBranches(
    schema,
    types.map((type) => ({ type })),
  );
}

/** Pixels are a number here: to write them as a text is for queries and forms. */
function measureOf({ minimum, maximum, percent, auto }: MeasureSetting): JsonSchema[] {
  const pixels = { type: 'integer', minimum, maximum };
  if (!percent) return auto ? [pixels, { type: 'string', enum: ['auto'] }] : [pixels];
  return [pixels, { type: 'string', description: `Per cent such as "5%"${auto ? ', or auto' : ''}.` }];
}

function withBranches(schema: JsonSchema, anyOf: readonly JsonSchema[]): JsonSchema {
  const [only] = anyOf;
  if (anyOf.length === 1) return { ...only, ...schema };
  if (schema.anyOf === undefined) return { anyOf, ...schema };
  return { ...schema, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), { anyOf }] };
}
