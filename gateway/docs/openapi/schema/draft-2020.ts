import { isObject, type JsonSchema } from '../../../../schemas/json-schema.js';

/** What names or holds schemas for others to refer to: they are kept among the document's own. */
const elsewhere = ['$id', 'id', '$schema', 'definitions', '$defs'];

/**
 * The keywords of a draft-07 schema as those of 2020-12 that say the same: tuples, and what depends on a property. The schemas
 * inside of it are left as they are.
 */
export function draft2020Keywords(schema: JsonSchema): JsonSchema {
  const { items, additionalItems, dependencies, ...rest } = schema;
  for (const keyword of elsewhere) delete rest[keyword];
  return { ...rest, ...itemsOf(items, additionalItems), ...dependenciesOf(dependencies, rest) };
}

/** Beside one schema for all items, or none, draft-07 does not look at `additionalItems`. */
function itemsOf(items: unknown, additionalItems: unknown): JsonSchema {
  if (!Array.isArray(items)) return items === undefined ? {} : { items };
  return { prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

function dependenciesOf(
  dependencies: unknown,
  { dependentRequired, dependentSchemas }: JsonSchema,
): JsonSchema {
  if (!isObject(dependencies)) return {};
  const all = Object.entries(dependencies);
  const names = all.filter(([, each]) => Array.isArray(each));
  const schemas = all.filter(([, each]) => !Array.isArray(each));
  return {
    ...(names.length > 0 && {
      dependentRequired: { ...asRecord(dependentRequired), ...Object.fromEntries(names) },
    }),
    ...(schemas.length > 0 && {
      dependentSchemas: { ...asRecord(dependentSchemas), ...Object.fromEntries(schemas) },
    }),
  };
}

function asRecord(value: unknown): JsonSchema {
  return isObject(value) ? value : {};
}
