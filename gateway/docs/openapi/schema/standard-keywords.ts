import { isObject, type JsonSchema } from '../../../../schemas/json-schema.js';
import { isMeasure, type MeasureSetting } from '../../../../schemas/vocabulary/measure.js';

/**
 * The schema without the keywords of the plugins' own vocabulary, in whose place plain JSON Schema stands: it takes all that
 * they take, and refuses what it has words for. The schemas inside of it are left as they are.
 */
export function standardKeywords(schema: JsonSchema): JsonSchema {
  const { color, choice, fraction, measure, nullable, ...others } = schema;
  const { drawable: _d, encodable: _e, onlyWith: _o, ...plain } = others;
  if (nullable === true && plain.type !== undefined) {
    plain.type = [...new Set([plain.type, 'null'].flat())];
  }
  const { type, ...untyped } = plain;
  let standard = plain;
  if (color !== undefined) standard = withMore(standard, { pattern: colorPattern });
  if (isObject(choice)) {
    const of = choiceOf(choice as Record<string, string[]>);
    standard =
      type === 'string'
        ? withMore(untyped, { anyOf: of.map((each) => ({ type, ...each })) })
        : withMore(standard, { anyOf: of });
  }
  if (fraction === true) standard = withMore(untyped, { anyOf: fractionOf([type].flat()) });
  if (isMeasure(measure)) standard = withMore(untyped, { anyOf: measureOf([type].flat(), measure) });
  return standard;
}

/** Alpha, which `color` refuses, needs a fourth part or a slash. Phrases hold none of these characters. */
const colorPattern =
  '^\\s*(?:#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})|(?:[Rr][Gg][Bb]|[Hh][Ss][Ll])[Aa]?\\([^/]*\\)|[^#/()]+)\\s*$';

/** By its names, for whoever picks one; in any case, for whoever types one. */
function choiceOf(choices: Record<string, string[]>): JsonSchema[] {
  const spellings = Object.entries(choices).flat(2);
  return [{ enum: spellings }, { pattern: `^(?:${spellings.map(anyCase).join('|')})$` }];
}

function anyCase(spelling: string): string {
  return Array.from(spelling, (character) => {
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    if (lower !== upper && [...lower].length + [...upper].length === 2) return `[${lower}${upper}]`;
    return character.replace(/[$()*+./?[\\\]^{|}]/, '\\$&');
  }).join('');
}

/** Between 1 and 2 nobody can tell a fraction from per cent. */
function fractionOf(types: readonly unknown[]): JsonSchema[] {
  return types.flatMap((type): JsonSchema[] => {
    if (type === 'string') return [{ type, pattern: '^0*(?:100|\\d{1,2})(?:\\.\\d{1,20})?%?$' }];
    if (type !== 'number' && type !== 'integer') return [{ type }];
    return [
      { type, minimum: 0, maximum: 1 },
      { type, minimum: 2, maximum: 100 },
    ];
  });
}

/** Texts are judged by their form alone: how large the number in one is, a pattern cannot say. */
function measureOf(types: readonly unknown[], setting: MeasureSetting): JsonSchema[] {
  const { minimum, maximum, percent, auto } = setting;
  const texts = [
    '\\d{1,15}',
    ...(percent ? ['0{0,6}(?:100(?:\\.0{1,6})?|\\d{1,2}(?:\\.\\d{1,6})?)%'] : []),
    ...(auto ? [anyCase('auto')] : []),
  ];
  return types.flatMap((type): JsonSchema[] => {
    if (type === 'integer' || type === 'number') return [{ type: 'integer', minimum, maximum }];
    if (type !== 'string') return [{ type }];
    const text = { type, pattern: `^(?:${texts.join('|')})$` };
    return auto ? [{ type, const: 'auto' }, text] : [text];
  });
}

/** What the schema says already holds as well. */
function withMore(schema: JsonSchema, more: JsonSchema): JsonSchema {
  const isFree = Object.keys(more).every((keyword) => schema[keyword] === undefined);
  if (isFree) return { ...schema, ...more };
  return { ...schema, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), more] };
}
