import { describeValue } from '../quote.js';
import type { Keyword } from './keyword.js';

// Line ends, half characters (PostgreSQL would keep others in their place), and what changes the direction of the text
// around it, so that a name could pass for another one in a list.
const notInALine = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether people can be shown this as a label or a name: one line of at most so many characters. */
export function isLine(text: string, maxLength: number): boolean {
  return [...text].length <= maxLength && !notInALine.test(text);
}

/** `line: 100` on a string: one line of text that is not blank, of at most 100 characters, as people can be shown it. */
export const line: Keyword<number> = {
  name: 'line',
  type: 'string',
  metaSchema: { type: 'integer', minimum: 1 },
  accepts: (setting) => typeof setting === 'number',
  prepare: (maxLength) => (value) => {
    if (value.trim() !== '' && isLine(value, maxLength)) return { value };
    const { length } = [...value];
    const but = length > maxLength ? `has ${length}` : `is ${describeValue(value)}`;
    return { problem: `must be ${describeLine(maxLength)}, but ${but}` };
  },
  describe: describeLine,
  standard: (maxLength, plain) => ({ ...plain, minLength: 1, maxLength }),
};

function describeLine(maxLength: number): string {
  return `one line of 1 to ${maxLength} characters without control characters`;
}
