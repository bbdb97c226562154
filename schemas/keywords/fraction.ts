import type { JsonSchema } from '../json-schema.js';
import { describeValue } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

/** What a `fraction` allows; a `minimum` beside it is one of the fraction, in whichever form that comes. */
export function fractionForm({ minimum }: JsonSchema): string {
  return `a fraction from ${leastOf(minimum)} to 1, or per cent as 2 to 100 or "50%"`;
}

function leastOf(minimum: unknown): number {
  return typeof minimum === 'number' ? minimum : 0;
}

const decimal = /^\d{1,20}(?:\.\d{1,20})?(%?)$/;

/**
 * A fraction as a number from 0 to 1, or undefined. Numbers from 0 to 1 are themselves, from 2 to 100 per cent; with a
 * `%` everything from 0 to 100 is per cent. Between 1 and 2 nobody can tell which was meant.
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
export const fractionKeyword = normalisingKeyword({
  keyword: 'fraction',
  type: ['number', 'string'],
  metaSchema: { const: true },
  prepare(_, beside) {
    const form = fractionForm(beside);
    const least = leastOf(beside.minimum);
    return (value) => {
      const fraction = parseFraction(value);
      if (fraction !== undefined && fraction >= least) return { ok: true, value: fraction };
      return { ok: false, problem: `must be ${form}, but is ${describeValue(value)}` };
    };
  },
});
