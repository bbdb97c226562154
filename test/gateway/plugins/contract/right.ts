/** Compiled, never run: what a handler gets besides its input, and what it may answer. */
import {
  defineHelper,
  type FailCode,
  type FileBytes,
  fail,
  type HelperDeclaration,
  type HelperLog,
  type Image,
  type InputSchema,
  invalidInput,
  type Schema,
} from '../../../../gateway/helper.js';
import type { Equal, Expect } from './equal.js';

const summary = 'Some.';
/** Compiles only where `value` is of just this type. */
const is = <Wanted>() => ({
  the: <Given>(_value: Given & (Equal<Given, Wanted> extends true ? unknown : never)) => {},
});

export const everything = defineHelper({
  summary,
  input: { type: 'object', properties: { to: { enum: ['de', 'fr'], default: 'de' } } },
  files: {
    logo: { kind: 'image', required: true },
    mask: { kind: 'image' },
    text: { kind: 'bytes', types: ['text/*'], maxBytes: 1000, required: true },
    terms: { kind: 'bytes' },
  },
  config: {
    apiKey: { env: 'TRANSLATE_API_KEY', secret: true, required: true },
    host: { env: 'TRANSLATE_HOST', default: 'api.example.com' },
    proxy: { env: 'TRANSLATE_PROXY' },
  },
  examples: [{ input: { to: 'fr', logo: 'https://example.com/logo.png' } }, { input: { dryrun: true } }],
  timeoutMs: 5000,
  setup: async ({ config, signal }) => {
    is<string>().the(config.apiKey);
    is<AbortSignal>().the(signal);
    return { client: config.host, cache: new Map<string, number>() };
  },
  dryrun: ({ to }, { config, log }) => {
    is<'de' | 'fr'>().the(to);
    log.info('would ask %s', config.host);
    return { to };
  },
  handler: async ({ to }, { files, config, state, log, signal, fetch, service, request_id }) => {
    is<Image>().the(files.logo);
    is<Image | undefined>().the(files.mask);
    is<FileBytes>().the(files.text);
    is<FileBytes | undefined>().the(files.terms);
    is<string>().the(config.host);
    is<string | undefined>().the(config.proxy);
    is<{ client: string; cache: Map<string, number> }>().the(state);
    is<HelperLog>().the(log);
    is<AbortSignal>().the(signal);
    log.warn({ to }, 'asked %s', state.client);
    const { status, headers, bytes } = await fetch(`https://${config.host}/`, {
      accept: 'text/plain',
      maxBytes: 100,
    });
    is<Uint8Array>().the(bytes);
    return { status, type: headers['content-type'], service, request_id };
  },
});

export const picture = defineHelper({
  summary,
  source: 'image',
  input: { type: 'object', properties: { width: { type: 'integer', default: 20 } } },
  dryrun: ({ url, width }) => {
    is<string | undefined>().the(url);
    return { url: url ?? null, width };
  },
  handler: ({ url, width }, { image }) => {
    is<string | undefined>().the(url);
    is<Image>().the(image);
    return image.border({ width, color: '#000000' }).encode('png');
  },
});

export const nothing = defineHelper({
  summary,
  runs: 'inline',
  input: { type: 'object' },
  handler: (input, context) => {
    is<Record<never, never>>().the(input);
    is<undefined>().the(context.state);
    is<Record<never, never>>().the(context.config);
    // @ts-expect-error no source
    context.image;
    // @ts-expect-error no files
    context.files;
    return {};
  },
});

/** A `setup` without parameters may stand anywhere; one with parameters stands above the handler, which is typed in order. */
export const order = [
  defineHelper({
    summary,
    input: { type: 'object' },
    handler: (_, { state }) => ({ length: state.words.length }),
    setup: () => ({ words: ['a'] }),
  }),
  defineHelper({
    summary,
    input: { type: 'object' },
    // @ts-expect-error not known yet
    handler: (_, { state }) => ({ length: state.words.length }),
    // @ts-expect-error so what it makes is not what the handler was given
    setup: ({ config }) => ({ words: Object.keys(config) }),
  }),
  defineHelper({
    summary,
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    inline: ({ text }) => text.length < 100,
    async setup({ signal }) {
      return { aborted: signal.aborted };
    },
    async handler({ text }, { state }) {
      is<boolean>().the(state.aborted);
      return { text };
    },
  }),
];

export type Returned = [
  Expect<Equal<Parameters<typeof picture.handler>[0], { width: number } & { url?: string }>>,
  Expect<Equal<FailCode, 'not_found' | 'conflict' | 'upstream_failed'>>,
];

const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
export const output = {
  type: 'object',
  properties: { kind: { enum: ['odd', 'even'] }, words: { type: 'array', items: { type: 'string' } } },
  required: ['kind'],
} as const;
const disposition = { 'content-disposition': 'inline' };

export const results: HelperDeclaration[] = [
  defineHelper({ summary, input, output, handler: async () => ({ kind: 'odd', words: ['one'] }) }),
  defineHelper({
    summary,
    input,
    output,
    handler: ({ n }) => (n > 5 ? { body: 'five', type: 'text/plain' } : { kind: n % 2 ? 'odd' : 'even' }),
  }),
  defineHelper({
    summary,
    input,
    handler: () => ({ body: new Uint8Array(1), type: 'image/png', headers: disposition }),
  }),
  defineHelper({ summary, input, handler: ({ n }) => ({ n, nested: { list: [n] } }) }),
  defineHelper({
    summary,
    input,
    handler: ({ n }) => {
      throw n > 5 ? invalidInput('n', 'must be at most 5') : fail('not_found', `There is no ${n}.`);
    },
  }),
  // A plain object is as good.
  { summary, input, handler: () => ({}) },
];

const word = { type: 'string', maxLength: 64 } satisfies Schema;
const size = { width: { type: 'integer', default: 20 }, height: { type: 'integer' } } as const;
const node = {
  type: 'object',
  properties: { n: { type: 'integer' }, next: { $ref: '#/definitions/node' } },
} as const;
declare const languages: string[];
declare const wide: InputSchema;

/** Schemas that are put together from parts. */
export const parts = [
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: { ...size, word, language: { type: 'string', enum: languages, default: 'eng' } },
      required: ['word'],
    },
    handler: ({ word, width, height, language }) => ({
      word: word.trim(),
      area: width * (height ?? width),
      language: language.slice(0, 2),
    }),
  }),
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: { tree: { $ref: '#/definitions/node', default: { next: { next: { n: 1 } } } } },
      definitions: { node },
    },
    handler: ({ tree }) => ({ n: tree.next?.next?.next?.n }),
  }),
  // Names that are keywords too.
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: { default: word, items: { type: 'integer' }, type: { enum: ['a'], default: 'a' } },
      required: ['items'],
    },
    handler: ({ items, type, default: other }) => ({ items: items + 1, type, other: other?.length }),
  }),
  // Of a list of names that is not known each parameter may be missing.
  defineHelper({
    summary,
    input: { type: 'object', properties: size, required: Object.keys(size) },
    handler: ({ height }) => ({ height: height ?? 0 }),
  }),
  // What is required may be declared in a part.
  defineHelper({
    summary,
    input: { type: 'object' },
    output: { type: 'object', required: ['text'], allOf: [{ type: 'object', properties: { text: word } }] },
    handler: () => ({ text: 'one' }),
  }),
  // Nothing is known of its parameters, and nothing is in the way.
  defineHelper({ summary, input: wide, handler: (input) => ({ ...input }) }),
];
