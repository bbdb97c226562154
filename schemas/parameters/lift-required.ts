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
    if (!Array.isArray(lifted[keyword])) continue;
    const branches = liftEach(lifted[keyword]);
    if (branches) lifted[keyword] = branches;
    else delete lifted[keyword];
  }
  for (const keyword of ['then', 'else']) {
    if (isObject(lifted[keyword])) lifted[keyword] = liftRequired(lifted[keyword]);
  }
  if (Array.isArray(lifted.oneOf)) {
    // Alternatives that differ in what they require are all right once nothing is required, so "exactly one" must go.
    const branches = liftEach(lifted.oneOf);
    const others = Array.isArray(lifted.allOf) ? lifted.allOf : [];
    if (branches) lifted.allOf = [...others, { anyOf: branches }];
    delete lifted.oneOf;
  }
  return lifted;
}

/**
 * Undefined where they did nothing but demand: they say nothing any more, and tools take alternatives of which each is right for
 * anything for a slip.
 */
function liftEach(schemas: readonly unknown[]): JsonSchema[] | undefined {
  const lifted = schemas.map((each) => liftRequired(asSchema(each)));
  return lifted.some((each) => Object.keys(each).length > 0) ? lifted : undefined;
}
