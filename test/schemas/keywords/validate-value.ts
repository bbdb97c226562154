import type { JsonSchema } from '../../../schemas/json-schema.js';
import type { Abilities } from '../../../schemas/keywords/keyword.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

/** The normal form of a value that a property's schema takes, else what is wrong with it. */
export function validateValue(property: JsonSchema, value: unknown, options?: Abilities): unknown {
  const data = { value };
  const validate = createVocabulary(options).compile({ type: 'object', properties: { value: property } });
  return validate(data) ? data.value : validate.errors?.map(({ message }) => message).join('; ');
}
