import { Ajv, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv';
import { type Abilities, type AnyKeyword, toAjvKeyword } from './keywords/keyword.js';
import { adminKeywords, helperKeywords } from './keywords/keywords.js';

/** ajv's optimiser needs a third of the compile time, and its code is no faster, because V8 does the same again. */
const fastCompile = { code: { optimize: false } } satisfies Options;

/** For the gateway's own schemas, which a test validates: to compile the meta-schema costs more than they do. */
export const ownSchemas = { ...fastCompile, meta: false, validateSchema: false } satisfies Options;

let checkedCount = 0;

/** Compiles a schema that needs no check by the meta-schema: the gateway's own, or one that was checked before. */
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
  // One answer names every problem. The cost is bounded, because parameters are counted before they get here.
  allErrors: true,
  // A key such as `__proto__` or `constructor` must not be found on the prototype.
  ownProperties: true,
  useDefaults: true,
  // ajv turns null into "" and "0x10" into 16; texts are read by the declared type before, or not at all.
  coerceTypes: false,
  // Of alternatives that a property distinguishes, only the one that is meant is validated.
  discriminator: true,
  // So that keywords know whose values they validate.
  passContext: true,
  // Errors carry the value and its schema, from which messages are made.
  verbose: true,
  // Each schema is compiled once, so a `$id` may occur again in another plugin.
  addUsedSchema: false,
  logger: false,
};

/** A validator for a plugin's parameters: JSON Schema draft-07 in ajv's strict mode, without coercion, with the helpers' keywords. */
export function createVocabulary(abilities: Abilities = {}): Ajv {
  const ajv = new Ajv(ajvOptions);
  for (const keyword of helperKeywords) addKeyword(ajv, keyword, abilities);
  return ajv;
}

/**
 * The validator for what the administration of keys accepts: all own keywords, and `form`, which says what is allowed where words say it
 * better than the rules, such as a pattern. It is made on first use: a start validates nothing by it.
 */
export function createAdminVocabulary(abilities: Abilities): () => Ajv {
  let made: Ajv | undefined;
  return function adminVocabulary() {
    if (made) return made;
    made = new Ajv({ ...ajvOptions, ...ownSchemas });
    for (const keyword of [...helperKeywords, ...adminKeywords]) addKeyword(made, keyword, abilities);
    made.addKeyword({ keyword: 'form', schemaType: 'string', valid: true });
    return made;
  };
}

/** The schema of a keyword's setting, which ajv would compile at once (30 ms for all keywords), is compiled on first use. */
function addKeyword(ajv: Ajv, keyword: AnyKeyword, abilities: Abilities): void {
  const { metaSchema, ...definition } = toAjvKeyword(keyword, abilities);
  let compiled: ValidateFunction | undefined;
  function validateSchema(setting: unknown): boolean {
    compiled ??= compileChecked(ajv, keyword.metaSchema);
    const valid = compiled(setting);
    validateSchema.errors = compiled.errors;
    return valid;
  }
  validateSchema.errors = undefined as ValidateFunction['errors'];
  ajv.addKeyword({ ...definition, validateSchema } as FuncKeywordDefinition);
  // Where messages look for it.
  Object.assign(ajv.getKeyword(keyword.name), { metaSchema });
}
