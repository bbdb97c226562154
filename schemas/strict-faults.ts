import type { Ajv } from 'ajv';
import { mismatch, toProblems } from './explain-errors.js';
import { isObject, type JsonSchema } from './json-schema.js';
import { quote } from './quote.js';
import { mapSubschemas } from './subschemas.js';

/** Keywords that make sense together only; each other one is looked at alone. */
const groups = [
  ['if', 'then', 'else'],
  ['items', 'additionalItems', 'minItems', 'maxItems'],
  ['properties', 'patternProperties', 'additionalProperties'],
  ['type', 'nullable'],
  ['discriminator', 'oneOf'],
];
const elsewhere = new Set(['$ref', '$comment', 'id']);

/**
 * What ajv's strict mode, or a keyword of the house, has against the keywords of one schema; `around` are the types that hold
 * for it from outside. The schemas inside of it, and what breaks the meta-schema, are left out.
 */
export function strictFaults(
  ajv: Ajv,
  schema: JsonSchema,
  around: string[],
): { keyword: string; problem: string }[] {
  const shallow = mapSubschemas(schema, () => true);
  const type = schema.type ?? (around.length > 0 ? around : undefined);
  const found: { keyword: string; problem: string }[] = [];
  for (const group of groupsOf(schema, ajv)) {
    const [keyword = ''] = group;
    const alone = Object.fromEntries(group.map((each) => [each, shallow[each]]));
    try {
      ajv.compile(type === undefined ? alone : { type, ...alone });
    } catch (error) {
      const problem = problemOf(ajv, keyword, schema[keyword], String((error as Error).message));
      if (problem !== undefined) found.push({ keyword, problem });
    }
  }
  return found;
}

function groupsOf(schema: JsonSchema, ajv: Ajv): string[][] {
  const present = Object.keys(schema).filter(
    (keyword) => keyword in ajv.RULES.all && !elsewhere.has(keyword),
  );
  const together = groups.map((group) => group.filter((keyword) => present.includes(keyword)));
  const grouped = new Set(together.flat());
  const alone = present.filter((keyword) => !grouped.has(keyword)).map((keyword) => [keyword]);
  return [...together.filter((group) => group.length > 0), ...alone];
}

function problemOf(ajv: Ajv, keyword: string, value: unknown, message: string): string | undefined {
  if (message.startsWith('schema is invalid')) return undefined;
  const type = /missing type "([\w,]+)"/.exec(message)?.[1];
  if (type !== undefined) return `needs "type": ${quote(type)} beside it`;
  if (keyword === 'format' && typeof value === 'string') {
    return `is an unknown format: ${quote(value)}; none is known, write a pattern`;
  }
  const definition = ajv.getKeyword(keyword);
  const { metaSchema } = typeof definition === 'object' ? definition : {};
  if (isObject(metaSchema) && /value is invalid/.test(message)) return settingFault(ajv, metaSchema, value);
  return `is refused: ${plain(message)}`;
}

/** What is wrong with the value of a keyword of the house: with what is in it, where it is the right kind of value. */
function settingFault(ajv: Ajv, metaSchema: JsonSchema, value: unknown): string {
  const validate = ajv.compile(metaSchema);
  validate(value);
  const inside = toProblems(validate.errors ?? [], metaSchema).filter(({ field }) => field !== '*');
  if (inside.length > 0) {
    return `is no setting of it: ${inside.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`;
  }
  const [example] = Array.isArray(metaSchema.examples) ? metaSchema.examples : [];
  const hint = example === undefined ? '' : `; write ${JSON.stringify(example)}`;
  return mismatch(metaSchema, value) + hint;
}

/** ajv's words without where it thinks it is: a part that was compiled alone. */
export function plain(message: string): string {
  return message
    .replace(/^strict mode: /, '')
    .replace(/ (?:in schema )?at (?:path )?"#[^"]*"/, '')
    .replace(/ \(strict\w+\)$/, '');
}
