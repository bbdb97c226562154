import { failureSchema, successSchema } from '../../../schemas/envelope.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import type { Components } from './schema/components.js';
import { createConverter } from './schema/convert.js';

/** The envelope of a success with this data. */
export type SuccessWith = (data: JsonSchema) => JsonSchema;

/** Puts the envelope's shapes among the components, and gives the one of a success. */
export function placeEnvelopes(components: Components): SuccessWith {
  const plain = (schema: object) =>
    createConverter(schema as JsonSchema, '', components)(schema as JsonSchema);
  const { meta, data: anyData, ...others } = successSchema.properties;
  const place = (name: string, schema: JsonSchema) => {
    const { ref, set } = components.reserve(name);
    set(schema);
    return { $ref: ref };
  };
  const metaRef = place('Meta', plain(meta));
  place('Failure', plain(failureSchema));
  return (data) => ({
    ...plain(successSchema),
    properties: { ...others, data: { description: anyData.description, ...data }, meta: metaRef },
  });
}
