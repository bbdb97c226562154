import { isObject } from '../json-schema.js';
import { describeValue } from '../quote.js';
import { isAuto, normalisingKeyword } from './keyword.js';

/** What a schema says of a measure; bounds are whole numbers of pixels, and hold for those alone. */
export interface MeasureSetting {
  minimum: number;
  maximum: number;
  /** Per cent of what the helper says, from 0 to 100, is taken too. */
  percent?: true;
  /** So is the word `auto`. */
  auto?: true;
}

/** A measure in its normal form: pixels, per cent without needless zeros, or `auto`. */
export type Measure = number | `${number}%` | 'auto';

const digits = /^\d{1,15}$/;
// With more places a number could not be written without an exponent.
const percentage = /^\d{1,9}(?:\.\d{1,6})?%$/;
const withUnit = /^(\d{1,15}) ?(?:px|pixels?)$/i;
const apart = /^(\d{1,9}(?:\.\d{1,6})?) (?:%|per ?cent)$/i;

/** What a measure allows, e.g. `a whole number of pixels from 4 to 1000, per cent such as "5%", or auto`. */
export function measureForm({ minimum, maximum, percent, auto }: MeasureSetting): string {
  const pixels = `a whole number of pixels from ${minimum} to ${maximum}`;
  if (percent && auto) return `${pixels}, per cent such as "5%", or auto`;
  if (percent) return `${pixels}, or per cent such as "5%"`;
  return auto ? `${pixels}, or auto` : pixels;
}

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
export const measureKeyword = normalisingKeyword({
  keyword: 'measure',
  type: ['number', 'string'],
  metaSchema: {
    type: 'object',
    required: ['minimum', 'maximum'],
    additionalProperties: false,
    properties: {
      minimum: { type: 'integer', minimum: 0 },
      maximum: { type: 'integer', minimum: 0 },
      percent: { const: true },
      auto: { const: true },
    },
    examples: [{ minimum: 0, maximum: 100 }],
  },
  prepare(given, { type }) {
    const setting = given as MeasureSetting;
    if (setting.minimum > setting.maximum) {
      throw new Error(`minimum is ${setting.minimum}, above maximum, which is ${setting.maximum}`);
    }
    if (typeof type === 'string') {
      throw new Error(
        `it takes numbers and texts; write "type": ["integer", "string"] in place of "${type}"`,
      );
    }
    const form = measureForm(setting);
    return (value) => {
      const measure = parseMeasure(value, setting);
      if (measure !== undefined) return { ok: true, value: measure };
      return {
        ok: false,
        problem: `must be ${form}, but is ${describeValue(value)}${hintOf(value, setting)}`,
      };
    };
  },
});

/** What comes with a unit was meant rightly. */
function hintOf(value: unknown, setting: MeasureSetting): string {
  if (typeof value !== 'string') return '';
  const percent = apart.exec(value)?.[1];
  const meant = parseMeasure(percent === undefined ? withUnit.exec(value)?.[1] : `${percent}%`, setting);
  return meant === undefined ? '' : `; write ${meant}`;
}

/** Whether `setting` is one of a measure, as far as documents need to know. */
export function isMeasure(setting: unknown): setting is MeasureSetting {
  return isObject(setting) && typeof setting.minimum === 'number' && typeof setting.maximum === 'number';
}
