import { Ajv, type Options } from 'ajv';
import { ownSchemas } from '../own-schemas.js';
import { choiceKeyword } from './choice.js';
import { colorKeyword } from './color.js';
import { type CanDraw, drawableKeyword } from './drawable.js';
import { fractionKeyword } from './fraction.js';

const options: Options = {
  strict: true,
  // So that `anyOf: [{ required: ['a'] }, { required: ['b'] }]` can be said; a name that is nowhere is refused elsewhere.
  strictRequired: false,
  allowUnionTypes: true,
  strictNumbers: true,
  // One answer names every problem. The cost stays bounded, for parameters are counted before they get here.
  allErrors: true,
  // A key such as `__proto__` or `constructor` must not be found on the prototype.
  ownProperties: true,
  useDefaults: true,
  // ajv turns null into "" and "0x10" into 16; texts are read by the declared type before, or not at all.
  coerceTypes: false,
  // Of alternatives that a property tells apart, only the one that is meant is judged.
  discriminator: true,
  // Errors carry the value and its schema, from which messages are made.
  verbose: true,
  // The rules of a schema are compiled once and for all, so a `$id` may occur again in another plugin.
  addUsedSchema: false,
  logger: false,
};

export interface VocabularyOptions {
  /** Judges `drawable: true`; without it every text passes. */
  canDraw?: CanDraw;
  /** For the gateway's own schemas alone: they are not judged as schemas. */
  own?: boolean;
}

/**
 * The validator for parameters: JSON Schema draft-07 in ajv's strict mode, without coercion, with the keywords `color`,
 * `choice`, `fraction` and `drawable`, which replace a valid value by its normal form.
 */
export function createVocabulary({ canDraw, own = false }: VocabularyOptions = {}): Ajv {
  const ajv = new Ajv({ ...options, ...(own ? ownSchemas : {}) });
  for (const keyword of [colorKeyword, choiceKeyword, fractionKeyword, drawableKeyword(canDraw)]) {
    ajv.addKeyword(keyword);
  }
  return ajv;
}
