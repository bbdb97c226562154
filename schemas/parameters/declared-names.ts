import { asSchema, choices, isObject, type JsonSchema, localDefinition } from '../json-schema.js';

/** By these a schema says itself what else an object may have. */
const deciding = ['additionalProperties', 'patternProperties', 'unevaluatedProperties'];
const lists = ['allOf'];
const single = ['if', 'then', 'else'];
const byName = ['dependencies', 'dependentSchemas'];
const deepest = 32;

export type Names = ReadonlySet<string>;

/**
 * The names of the properties that a schema declares for the object it judges, wherever it does: itself, in `allOf`, `if`,
 * `dependencies`, behind a `$ref`, and in the alternatives that `takes` lets through. Undefined where one of these
 * says itself which others there may be, or cannot be followed.
 */
export function declaredNames(
  schema: JsonSchema,
  root: JsonSchema,
  takes: (alternatives: unknown[]) => boolean,
): Names | undefined {
  const names = new Set<string>();
  return gather(schema, 0) ? names : undefined;

  function gather(part: JsonSchema, depth: number): boolean {
    if (depth > deepest || deciding.some((keyword) => part[keyword] !== undefined)) return false;
    for (const name of Object.keys(asSchema(part.properties))) names.add(name);
    if (part.$ref !== undefined) {
      const to = localDefinition(part);
      if (to === undefined || !gather(asSchema(asSchema(root[to.keyword])[to.name]), depth + 1)) return false;
    }
    return partsOf(part).every((each) => gather(each, depth + 1));
  }

  function partsOf(part: JsonSchema): JsonSchema[] {
    const taken = choices.filter((keyword) => {
      const alternatives = part[keyword];
      return Array.isArray(alternatives) && takes(alternatives);
    });
    const parts: unknown[] = [...lists, ...taken].flatMap((keyword) => part[keyword] ?? []);
    parts.push(...single.map((keyword) => part[keyword]));
    parts.push(...byName.flatMap((keyword) => Object.values(asSchema(part[keyword]))));
    return parts.filter(isObject);
  }
}
