/** Compiled, never run: what `call` accepts and gives is known from the helper itself. */
import { defineHelper } from '../../../gateway/helper.js';
import { call, type SentBody } from '../../../gateway/testing.js';
import type { Equal, Expect } from '../plugins/contract/equal.js';

const shout = defineHelper({
  summary: 'Shouts.',
  input: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' }, color: { type: 'string', color: true, default: '#000' } },
  },
  config: { apiKey: { env: 'SHOUT_KEY' } },
  files: { logo: { kind: 'image' } },
  handler: ({ text, color }) => ({ said: text, color }),
});
const stamp = defineHelper({
  summary: 'Stamps.',
  source: 'image',
  files: { mark: { kind: 'image', parameter: 'mark_url', insteadOf: 'text' } },
  input: { type: 'object', properties: { text: { type: 'string' } } },
  examples: [{ input: { mark_url: 'https://example.com/a.png' } }],
  dryrun: ({ url, text, mark_url }) => ({ url, text, mark_url }),
  handler: ({ text }, { image, files }) => (text && files.mark ? files.mark : image).encode('png'),
});

export const answer = call(
  shout,
  { text: 'a', color: 'red' },
  { config: { apiKey: 'k' }, files: { logo: 'a.png' } },
);
export const rehearsed = call(shout, {}, { dryrun: true });
const files = { file: new Uint8Array(), mark: 'a.png' };
export const picture = call(stamp, { url: 'https://example.com/a.png' }, { files });
export const stamped = call(stamp, { mark_url: 'https://example.com/a.png' }, { files: { file: 'a.png' } });
/** A plain object, of which nothing more is known. */
export const plain = call({ summary: 'x', input: { type: 'object' }, handler: () => ({}) }, { any: 1 });

export type Known = [
  Expect<Equal<typeof answer, Promise<{ readonly said: string; readonly color: `#${string}` }>>>,
  Expect<Equal<typeof picture | typeof stamped, Promise<SentBody>>>,
  Expect<Equal<typeof rehearsed, Promise<Record<string, unknown>>>>,
  Expect<Equal<typeof plain, Promise<Record<string, unknown>>>>,
];

// @ts-expect-error a parameter that is required
call(shout, {});
// @ts-expect-error a parameter that there is not
call(shout, { text: 'a', txt: 'b' });
// @ts-expect-error a file that there is not
call(shout, { text: 'a' }, { files: { file: 'a.png' } });
// @ts-expect-error a value of another type
call(shout, { text: 1 });
// @ts-expect-error the url of a file stands in the parameter that it names
call(stamp, { mark: 'https://example.com/a.png' });
