/** Compiled, never run: what a handler may answer. */
import {
  defineHelper,
  type FailCode,
  fail,
  type HelperDeclaration,
  invalidInput,
} from '../../../../gateway/helper.js';
import type { Equal, Expect } from './equal.js';

const summary = 'Some.';
const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
const output = {
  type: 'object',
  properties: { kind: { enum: ['odd', 'even'] }, words: { type: 'array', items: { type: 'string' } } },
  required: ['kind'],
} as const;

export const right: HelperDeclaration[] = [
  defineHelper({ summary, input, output, handler: ({ n }) => ({ kind: n % 2 ? 'odd' : 'even' }) }),
  defineHelper({ summary, input, output, handler: async () => ({ kind: 'odd', words: ['one'] }) }),
  defineHelper({
    summary,
    input,
    output,
    handler: ({ n }) => (n > 5 ? { body: 'five', type: 'text/plain' } : { kind: 'odd' }),
  }),
  defineHelper({
    summary,
    input,
    handler: () => ({
      body: new Uint8Array(1),
      type: 'image/png',
      headers: { 'content-disposition': 'inline' },
    }),
  }),
  defineHelper({ summary, input, handler: ({ n }) => ({ n, nested: { list: [n] } }) }),
  defineHelper({
    summary,
    input,
    handler: ({ n }) => {
      if (n > 5) throw invalidInput('n', 'must be at most 5');
      throw fail('not_found', `There is no ${n}.`);
    },
  }),
  // A plain object is as good.
  { summary, input, handler: () => ({}) },
];

export const wrong = [
  // @ts-expect-error what is required is missing
  defineHelper({ summary, input, output, handler: () => ({ words: [] }) }),
  // @ts-expect-error not one of the values
  defineHelper({ summary, input, output, handler: () => ({ kind: 'prime' }) }),
  // @ts-expect-error of another type
  defineHelper({ summary, input, output, handler: async () => ({ kind: 'odd', words: 'one' }) }),
  // @ts-expect-error a code that is the gateway's own
  fail('internal', 'No.'),
];

export type Codes = Expect<Equal<FailCode, 'not_found' | 'conflict' | 'upstream_failed'>>;
