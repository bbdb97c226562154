import { describeValue } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

// Line ends, half characters (PostgreSQL would keep others in their place), and what turns the direction of the text
// around it, so that a name could pass for another one in a list.
const notInALine = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether people can be shown this as a label or a name: one line of at most so many characters. */
export function isLine(text: string, maxLength: number): boolean {
  return [...text].length <= maxLength && !notInALine.test(text);
}

/** What a `line` of so many characters allows. */
export function lineForm(maxLength: number): string {
  return `one line of 1 to ${maxLength} characters without control characters`;
}

/** `line: 100` on a string: one line of text that is not blank, of at most 100 characters, as people can be shown it. */
export const lineKeyword = normalisingKeyword({
  keyword: 'line',
  type: 'string',
  metaSchema: { type: 'integer', minimum: 1 },
  prepare(setting) {
    const maxLength = setting as number;
    return (value) => {
      const text = value as string;
      if (text.trim() !== '' && isLine(text, maxLength)) return { ok: true, value };
      const { length } = [...text];
      const but = length > maxLength ? `has ${length}` : `is ${describeValue(text)}`;
      return { ok: false, problem: `must be ${lineForm(maxLength)}, but ${but}` };
    };
  },
});
