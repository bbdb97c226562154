import { Ajv, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv';
import { choiceKeyword } from './keywords/choice.js';
import { colorKeyword } from './keywords/color.js';
import { type CanDraw, drawableKeyword } from './keywords/drawable.js';
import { type CanEncode, encodableKeyword } from './keywords/encodable.js';
import { fractionKeyword } from './keywords/fraction.js';
import { measureKeyword } from './keywords/measure.js';
import { onlyWithKeyword } from './keywords/only-with.js';

/**
 * For every schema: ajv's optimiser takes a third of the time to compile one, and what it leaves judges no faster, for V8 does the
 * same again.
 */
const fastCompile = { code: { optimize: false } } satisfies Options;

/**
 * For schemas that are written here and no plugin's: a test holds them against the rules of JSON Schema, which take longer to compile
 * than what is judged by them.
 */
export const ownSchemas = { ...fastCompile, meta: false, validateSchema: false } satisfies Options;

let checkedCount = 0;

/**
 * Compiles a schema that is written here, or that has been checked before, with a validator that would check it against the rules of
 * JSON Schema first.
 */
export function compileChecked(ajv: Ajv, schema: object): ValidateFunction {
  checkedCount += 1;
  const key = `checked-${checkedCount}`;
  return ajv.addSchema(schema, key, undefined, false).getSchema(key) as ValidateFunction;
}

const ajvOptions: Options = {
  ...fastCompile,
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
  // So that keywords know whose values they judge.
  passContext: true,
  // Errors carry the value and its schema, from which messages are made.
  verbose: true,
  // The rules of a schema are compiled once and for all, so a `$id` may occur again in another plugin.
  addUsedSchema: false,
  logger: false,
};

/** What can be done here, which the keywords that ask for it are judged by. */
export interface Abilities {
  /** Judges `drawable: true`; without it every text passes. */
  canDraw?: CanDraw;
  /** Judges `encodable: true`, by the engine that runs when it is asked; without it every format passes. */
  canEncode?: CanEncode;
}

export interface VocabularyOptions extends Abilities {
  /** For the gateway's own schemas alone: they are not judged as schemas. */
  own?: boolean;
}

/**
 * The validator for parameters: JSON Schema draft-07 in ajv's strict mode, without coercion, with the keywords `color`,
 * `choice`, `fraction`, `measure`, `drawable` and `encodable`, which replace a valid value by its normal form, and `onlyWith`, which
 * is judged with the parameters.
 */
export function createVocabulary({ canDraw, canEncode, own = false }: VocabularyOptions = {}): Ajv {
  const ajv = new Ajv({ ...ajvOptions, ...(own ? ownSchemas : {}) });
  const keywords = [
    colorKeyword,
    choiceKeyword,
    fractionKeyword,
    measureKeyword,
    drawableKeyword(canDraw),
    // After the choice, of whose normal form it is asked.
    encodableKeyword(canEncode),
    onlyWithKeyword,
  ];
  for (const keyword of keywords) addKeyword(ajv, keyword);
  return ajv;
}

/** Adds a keyword. The schema of its setting, which ajv would compile at once (30 ms for all keywords), is compiled when it is first used. */
export function addKeyword(ajv: Ajv, { metaSchema = {}, ...definition }: FuncKeywordDefinition): void {
  let compiled: ValidateFunction | undefined;
  function validateSchema(setting: unknown): boolean {
    compiled ??= compileChecked(ajv, metaSchema);
    const valid = compiled(setting);
    validateSchema.errors = compiled.errors;
    return valid;
  }
  validateSchema.errors = undefined as ValidateFunction['errors'];
  ajv.addKeyword({ ...definition, validateSchema } as FuncKeywordDefinition);
  // Where messages look for it.
  Object.assign(ajv.getKeyword(String(definition.keyword)), { metaSchema });
}
