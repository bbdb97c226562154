import { asSchema, choices, type JsonSchema } from '../../../../schemas/json-schema.js';
import { findTag } from '../../../../schemas/tag.js';

/**
 * `inner`, with OpenAPI's `discriminator` where its alternatives are told apart by a property with one text each, and `place` makes a
 * component of each. `schema` is the same before its inside was converted. A discriminator demands nothing that the
 * alternatives do not.
 */
export function discriminated(
  schema: JsonSchema,
  inner: JsonSchema,
  root: JsonSchema,
  place: (branch: JsonSchema, name: string) => string | undefined,
): JsonSchema {
  const { discriminator: _, ...plain } = inner;
  const keyword = choices.find((each) => Array.isArray(schema[each]));
  if (keyword === undefined) return plain;
  const branches = (schema[keyword] as unknown[]).map(asSchema);
  const tag = findTag(branches, schema, root);
  if (tag === undefined || !tag.values.flat().every((value) => typeof value === 'string')) return plain;
  const names = tag.values.map((values) => String(values[0]));
  const refs = branches.map((branch, at) => place(branch, `${tag.name}.${names[at]}`));
  if (refs.some((ref) => ref === undefined)) return plain;
  const mapping = tag.values.flatMap((values, at) => values.map((value) => [String(value), refs[at]]));
  return {
    ...plain,
    [keyword]: refs.map(($ref) => ({ $ref })),
    discriminator: { propertyName: tag.name, mapping: Object.fromEntries(mapping) },
  };
}
