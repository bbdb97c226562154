import { closedObject, isObject, type JsonSchema } from '../json-schema.js';
import { describeValue } from '../quote.js';
import { type Keyword, withAlternatives } from './keyword.js';

/** Of a recipe, a `maximum`: one beside it would be one of the number that is sent, which may be per cent. */
type FractionSetting = true | { maximum: number };

const decimal = /^\d{1,20}(?:\.\d{1,20})?(%?)$/;

/**
 * A fraction as a number from 0 to 1, or undefined. Numbers from 0 to 1 are themselves, from 2 to 100 per cent; with a
 * `%` everything from 0 to 100 is per cent. Between 1 and 2 the meaning is unclear.
 */
export function parseFraction(value: unknown): number | undefined {
  if (typeof value === 'number') {
    if (value >= 0 && value <= 1) return value + 0;
    return value >= 2 && value <= 100 ? value / 100 : undefined;
  }
  if (typeof value !== 'string') return undefined;
  const match = decimal.exec(value);
  if (match === null) return undefined;
  if (match[1] !== '%') return parseFraction(Number(value));
  const percent = Number(value.slice(0, -1));
  return percent <= 100 ? percent / 100 : undefined;
}

/** `fraction: true` on `['number', 'string']`: becomes a number from 0, or from a `minimum` beside it, to 1. */
export const fraction: Keyword<FractionSetting, unknown> = {
  name: 'fraction',
  type: ['number', 'string'],
  metaSchema: {
    anyOf: [{ const: true }, closedObject({ maximum: { type: 'number', minimum: 0, maximum: 1 } })],
  },
  accepts: (setting) => setting === true || isObject(setting),
  prepare(setting, beside) {
    const form = describeFraction(setting, beside);
    const [least, most] = boundsOf(setting, beside);
    return (given) => {
      const value = parseFraction(given);
      if (value !== undefined && value >= least && value <= most) return { value };
      return { problem: `must be ${form}, but is ${describeValue(given)}` };
    };
  },
  describe: describeFraction,
  standard: (_, plain) =>
    withAlternatives(plain, (type) => {
      if (type === 'string') return [{ type, pattern: '^0*(?:100|\\d{1,2})(?:\\.\\d{1,20})?%?$' }];
      if (type !== 'number' && type !== 'integer') return [{ type }];
      return [
        { type, minimum: 0, maximum: 1 },
        { type, minimum: 2, maximum: 100 },
      ];
    }),
  control: () => ({ kind: 'fraction' }),
  samples(setting, type, beside, fc) {
    const [min, max] = boundsOf(setting, beside);
    if (type === 'string') return fc.constantFrom(`${min * 100}%`, ...(max === 1 ? ['50%', '100%'] : []));
    return type === 'number' ? fc.double({ min, max, noNaN: true }) : undefined;
  },
};

/** A `minimum` beside it is one of the fraction, in whichever form that comes. */
function boundsOf(setting: FractionSetting, { minimum }: JsonSchema): [number, number] {
  return [typeof minimum === 'number' ? minimum : 0, setting === true ? 1 : setting.maximum];
}

function describeFraction(setting: FractionSetting, beside: JsonSchema): string {
  const [least, most] = boundsOf(setting, beside);
  if (most < 1) return `a fraction from ${least} to ${most}, also as per cent`;
  return `a fraction from ${least} to 1, or per cent as 2 to 100 or "50%"`;
}
