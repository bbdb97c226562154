/** Compiled, never run: schemas that are put together from parts. */
import { defineHelper, type InputSchema, type Schema } from '../../../../gateway/helper.js';

const summary = 'Some.';
const word = { type: 'string', maxLength: 64 } satisfies Schema;
const size = { width: { type: 'integer', default: 20 }, height: { type: 'integer' } } as const;
declare const languages: string[];
declare const wide: InputSchema;

export const parts = [
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: {
        ...size,
        word,
        language: { type: 'string', enum: languages, default: 'eng' },
      },
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
      definitions: {
        node: {
          type: 'object',
          properties: { n: { type: 'integer' }, next: { $ref: '#/definitions/node' } },
        },
      },
    },
    handler: ({ tree }) => ({ n: tree.next?.next?.next?.n }),
  }),
  // Names that are keywords too.
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: {
        default: { type: 'string' },
        items: { type: 'integer' },
        type: { enum: ['a'], default: 'a' },
      },
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
    output: {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n', 'text'],
      allOf: [{ type: 'object', properties: { text: { type: 'string' } } }],
    },
    handler: () => ({ n: 1, text: 'one' }),
  }),
  // Nothing is known of its parameters, and nothing is in the way.
  defineHelper({ summary, input: wide, handler: (input) => ({ ...input }) }),
];
