import { isObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { mapSubschemas } from '../../../schemas/subschemas.js';
import { createComponents } from '../../docs/openapi/schema/components.js';
import { createConverter } from '../../docs/openapi/schema/convert.js';
import { plainKeywords } from './plain-keywords.js';

/** A plugin's draft-07 schema as one of the dialect that agents read, 2020-12, whole in itself. */
export function modernSchema(schema: JsonSchema): JsonSchema {
  const plain = plainKeywords(schema);
  const definitions = createComponents('#/$defs');
  const converted = withoutDiscriminator(createConverter(plain, 'of', definitions)(plain));
  const defs = Object.entries(definitions.schemas).map(([name, each]) => [name, withoutDiscriminator(each)]);
  return defs.length > 0 ? { ...converted, $defs: Object.fromEntries(defs) } : converted;
}

/** OpenAPI's keyword; nobody else knows it. */
function withoutDiscriminator(schema: JsonSchema): JsonSchema {
  const { discriminator: _, ...rest } = mapSubschemas(schema, (found) => withoutDiscriminator(found.schema));
  if (!Array.isArray(rest.prefixItems)) return rest;
  const items = rest.prefixItems.map((item) => (isObject(item) ? withoutDiscriminator(item) : item));
  return { ...rest, prefixItems: items };
}
