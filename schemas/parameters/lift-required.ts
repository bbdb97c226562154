import { asSchema, isObject, type JsonSchema } from '../json-schema.js';

const demands = ['required', 'minProperties', 'dependentRequired', 'dependencies'];

/**
 * The schema of a parameter object with `required` lifted, for dry runs: nothing has to be there, whether said at the
 * top or in an alternative, and what is there is judged as ever. `if` and `not` stay, for there a `required` asks
 * whether something is given and does not demand it.
 */
export function liftRequired(schema: JsonSchema): JsonSchema {
  const lifted: JsonSchema = { ...schema };
  for (const keyword of demands) delete lifted[keyword];
  for (const keyword of ['allOf', 'anyOf']) {
    if (Array.isArray(lifted[keyword]))
      lifted[keyword] = lifted[keyword].map((each) => liftRequired(asSchema(each)));
  }
  // One that asks for nothing any more is always met, and what differed in nothing else says nothing.
  if (Array.isArray(lifted.anyOf) && lifted.anyOf.some((each) => Object.keys(each).length === 0))
    delete lifted.anyOf;
  for (const keyword of ['then', 'else']) {
    if (isObject(lifted[keyword])) lifted[keyword] = liftRequired(lifted[keyword]);
  }
  if (Array.isArray(lifted.oneOf)) {
    // Alternatives that differ in what they require are all right once nothing is required, so "exactly one" must go.
    const branches = { anyOf: lifted.oneOf.map((each) => liftRequired(asSchema(each))) };
    lifted.allOf = [...(Array.isArray(lifted.allOf) ? lifted.allOf : []), branches];
    delete lifted.oneOf;
  }
  return lifted;
}
