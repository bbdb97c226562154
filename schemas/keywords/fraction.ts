import type { JsonSchema } from '../json-schema.js';
import { describeValue } from '../quote.js';
import { type Keyword, switchedOn, withAlternatives } from './keyword.js';

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
export const fraction: Keyword<true, unknown> = {
  name: 'fraction',
  type: ['number', 'string'],
  ...switchedOn,
  prepare(_, beside) {
    const form = describeFraction(beside);
    const least = leastOf(beside);
    return (given) => {
      const value = parseFraction(given);
      if (value !== undefined && value >= least) return { value };
      return { problem: `must be ${form}, but is ${describeValue(given)}` };
    };
  },
  describe: (_, beside) => describeFraction(beside),
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
  samples(_, type, beside, fc) {
    const least = leastOf(beside);
    if (type === 'string') return fc.constantFrom(`${least * 100}%`, '50%', '100%');
    return type === 'number' ? fc.double({ min: least, max: 1, noNaN: true }) : undefined;
  },
};

/** A `minimum` beside it is one of the fraction, in whichever form that comes. */
function describeFraction(beside: JsonSchema): string {
  return `a fraction from ${leastOf(beside)} to 1, or per cent as 2 to 100 or "50%"`;
}

function leastOf({ minimum }: JsonSchema): number {
  return typeof minimum === 'number' ? minimum : 0;
}
