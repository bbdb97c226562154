import { closedObject, isObject } from '../json-schema.js';
import { describeValue } from '../quote.js';
import { anyCase, isAuto, type Keyword, withAlternatives } from './keyword.js';

/** What a schema says of a measure; bounds are whole numbers of pixels, and hold for those alone. */
interface MeasureSetting {
  minimum: number;
  maximum: number;
  /** Per cent of what the helper says, from 0 to 100, passes too. */
  percent?: true;
  /** So does the word `auto`. */
  auto?: true;
}

/** A measure in its normal form: pixels, per cent without needless zeros, or `auto`. */
type Measure = number | `${number}%` | 'auto';

const bound = { type: 'integer', minimum: 0 };
const yes = { const: true };
const digits = /^\d{1,15}$/;
// With more places a number could not be written without an exponent.
const percentage = /^\d{1,9}(?:\.\d{1,6})?%$/;
const withUnit = /^(\d{1,15}) ?(?:px|pixels?)$/i;
const apart = /^(\d{1,9}(?:\.\d{1,6})?) (?:%|per ?cent)$/i;

/** The measure in its normal form, or undefined. A number is pixels, as text too; `"5%"` is per cent, with at most six places. */
export function parseMeasure(value: unknown, setting: MeasureSetting): Measure | undefined {
  if (typeof value === 'number') {
    const isFit = Number.isInteger(value) && value >= setting.minimum && value <= setting.maximum;
    // Adding 0 makes -0 a plain one.
    return isFit ? value + 0 : undefined;
  }
  if (typeof value !== 'string') return undefined;
  if (digits.test(value)) return parseMeasure(Number(value), setting);
  if (setting.percent && percentage.test(value)) {
    const percent = Number(value.slice(0, -1));
    return percent <= 100 ? `${percent}%` : undefined;
  }
  return setting.auto && isAuto(value) ? 'auto' : undefined;
}

/**
 * `measure: { minimum, maximum, percent?, auto? }` on `['integer', 'string']`: a length in a picture; becomes a number of pixels,
 * `"5%"` or `auto`.
 */
export const measure: Keyword<MeasureSetting, unknown> = {
  name: 'measure',
  type: ['number', 'string'],
  metaSchema: {
    ...closedObject({ minimum: bound, maximum: bound, percent: yes, auto: yes }, ['percent', 'auto']),
    examples: [{ minimum: 0, maximum: 100 }],
  },
  accepts: (setting) =>
    isObject(setting) && typeof setting.minimum === 'number' && typeof setting.maximum === 'number',
  prepare(setting, { type }) {
    if (setting.minimum > setting.maximum) {
      throw new Error(`minimum is ${setting.minimum}, above maximum, which is ${setting.maximum}`);
    }
    if (typeof type === 'string') {
      const both = '"type": ["integer", "string"]';
      throw new Error(`it allows numbers and texts; write ${both} in place of "${type}"`);
    }
    const form = describeMeasure(setting);
    return (given) => {
      const value = parseMeasure(given, setting);
      if (value !== undefined) return { value };
      return { problem: `must be ${form}, but is ${describeValue(given)}${hintOf(given, setting)}` };
    };
  },
  describe: describeMeasure,
  /** Texts by their form alone: how large the number in one is, a pattern cannot say. */
  standard({ minimum, maximum, percent, auto }, plain) {
    const texts = [
      '\\d{1,15}',
      ...(percent ? ['0{0,6}(?:100(?:\\.0{1,6})?|\\d{1,2}(?:\\.\\d{1,6})?)%'] : []),
      ...(auto ? [anyCase('auto')] : []),
    ];
    return withAlternatives(plain, (type) => {
      if (type === 'integer' || type === 'number') return [{ type: 'integer', minimum, maximum }];
      if (type !== 'string') return [{ type }];
      const text = { type, pattern: `^(?:${texts.join('|')})$` };
      return auto ? [{ type, const: 'auto' }, text] : [text];
    });
  },
  /** Pixels are a number here: to write them as a text is for queries and forms. */
  brief({ minimum, maximum, percent, auto }) {
    const pixels = { type: 'integer', minimum, maximum };
    if (!percent) return { anyOf: auto ? [pixels, { type: 'string', enum: ['auto'] }] : [pixels] };
    const description = `Per cent such as "5%"${auto ? ', or auto' : ''}.`;
    return { anyOf: [pixels, { type: 'string', description }] };
  },
  /** Whole pixels alone are a number like any other. */
  control({ minimum, maximum, percent, auto = false }) {
    if (!percent && !auto) return { kind: 'pixels', minimum, maximum };
    const unit = !percent ? 'px or auto' : auto ? 'px, % or auto' : 'px or %';
    return { kind: 'measure', auto, unit };
  },
  suggestions: ({ auto }) => (auto ? ['auto'] : []),
  samples({ minimum: min, maximum: max, percent, auto }, type, _, fc) {
    if (type === 'integer' || type === 'number') {
      return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max));
    }
    if (type !== 'string') return undefined;
    const pixels = fc.integer({ min, max }).map(String);
    const perCent = percent ? [fc.constantFrom('0%', '5%', '12.5%', '100%')] : [];
    return fc.oneof(pixels, ...perCent, ...(auto ? [fc.constantFrom('auto', 'Auto')] : []));
  },
};

/** `a whole number of pixels from 4 to 1000, per cent such as "5%", or auto` */
function describeMeasure({ minimum, maximum, percent, auto }: MeasureSetting): string {
  const pixels = `a whole number of pixels from ${minimum} to ${maximum}`;
  if (percent && auto) return `${pixels}, per cent such as "5%", or auto`;
  if (percent) return `${pixels}, or per cent such as "5%"`;
  return auto ? `${pixels}, or auto` : pixels;
}

/** What was probably meant by a value with a unit. */
function hintOf(value: unknown, setting: MeasureSetting): string {
  if (typeof value !== 'string') return '';
  const percent = apart.exec(value)?.[1];
  const meant = parseMeasure(percent === undefined ? withUnit.exec(value)?.[1] : `${percent}%`, setting);
  return meant === undefined ? '' : `; write ${meant}`;
}
