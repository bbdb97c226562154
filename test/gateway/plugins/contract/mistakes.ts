/** Compiled, never run: what an author gets wrong is an error where it stands, so each comment is on the line above it. */
import {
  defineHelper,
  fail,
  type OutputFormat,
  pictureOutput,
  pictureOutputRules,
  type Schema,
} from '../../../../gateway/helper.js';
import { output } from './right.js';

const summary = 'Some.';
const handler = () => ({});

const input = { type: 'object' } as const;

export const keywords = [
  // @ts-expect-error of the whole input
  defineHelper({ summary, input: { type: 'object', propertis: {} }, handler }),
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: {
        // @ts-expect-error of a parameter
        n: { type: 'integer', minimun: 1 },
        right: { type: 'integer', minimum: 1 },
        list: {
          type: 'array',
          // @ts-expect-error in a list of objects
          items: { type: 'object', properties: { a: { type: 'string', maxLenght: 5 } } },
        },
        // @ts-expect-error in an alternative
        either: { oneOf: [{ type: 'integer' }, { type: 'string', colour: true }] },
        // @ts-expect-error a format: none is known to the gateway
        mail: { type: 'string', format: 'email' },
      },
      // @ts-expect-error in a definition
      definitions: { size: { type: 'integer', maximun: 5 } },
    },
    handler,
  }),
  // @ts-expect-error a type that there is not
  defineHelper({ summary, input: { type: 'object', properties: { n: { type: 'int' } } }, handler }),
  defineHelper({
    summary,
    input: {
      type: 'object',
      // @ts-expect-error a keyword of another type
      properties: { list: { type: 'array', maxLength: 5 }, right: { type: ['integer', 'null'], minimum: 1 } },
    },
    handler,
  }),
  // @ts-expect-error a keyword that may not stand at the top
  defineHelper({ summary, input: { type: 'object', patternProperties: {} }, handler }),
  // @ts-expect-error in the output
  defineHelper({ summary, input, output: { type: 'object', properties: { n: { minimun: 1 } } }, handler }),
];

const word = { type: 'string', maxLenght: 64 } as const;
export const apart = [
  // @ts-expect-error in a part that was written elsewhere
  defineHelper({ summary, input: { type: 'object', properties: { word } }, handler }),
  // @ts-expect-error and where it is said to be one
  { type: 'string', maxLenght: 64 } satisfies Schema,
];

const measure = { minimum: 0, maximum: 9 } as const;
export const defaults = [
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: {
        // @ts-expect-error of another type
        n: { type: 'integer', default: 'x' },
        // @ts-expect-error not one of the values
        e: { enum: ['a', 'b'], default: 'c' },
        // @ts-expect-error not one of the choices
        c: { type: 'string', choice: { png: [], jpg: ['jpeg'] }, default: 'gif' },
        // @ts-expect-error a list of others
        l: { type: 'array', items: { type: 'string' }, default: [1] },
        // @ts-expect-error an object without what it must have
        o: { type: 'object', properties: { width: { type: 'integer' } }, required: ['width'], default: {} },
        // @ts-expect-error under a reference
        r: { $ref: '#/definitions/size', default: 'large' },
        right: { type: 'string', choice: { png: [], jpg: ['jpeg'] }, default: 'JPEG' },
        color: { type: 'string', color: true, default: 'black' },
        share: { type: ['number', 'string'], fraction: true, default: '50%' },
        ink: { type: 'string', color: { auto: true }, default: 'auto' },
        size: { type: ['integer', 'string'], measure: { ...measure, auto: true }, default: 'auto' },
        margin: { type: ['integer', 'string'], measure: { ...measure, percent: true }, default: '5%' },
        // @ts-expect-error auto is not accepted
        m: { type: ['integer', 'string'], measure, default: 'auto' },
        // @ts-expect-error nor per cent
        p: { type: ['integer', 'string'], measure: { ...measure, auto: true }, default: '5%' },
        list: { type: 'array', items: { type: 'string' }, default: ['a'] },
        nothing: { type: ['string', 'null'], default: null },
      },
      definitions: { size: { type: 'integer' } },
    },
    handler,
  }),
];

const wrap = { type: 'boolean', default: false } as const;
export const conditions = [
  defineHelper({
    summary,
    input: {
      type: 'object',
      properties: { ...pictureOutput, wrap, lines: { type: 'integer' } },
      onlyWith: { ...pictureOutputRules, lines: { wrap: [true] } },
    },
    handler: ({ format, quality }) => ({ format: format satisfies OutputFormat, quality }),
  }),
  defineHelper({
    summary,
    // @ts-expect-error of no parameter
    input: { type: 'object', properties: { wrap }, onlyWith: { lines: { wrap: [true] } } },
    handler,
  }),
  defineHelper({
    summary,
    // @ts-expect-error on no parameter
    input: { type: 'object', properties: { wrap, lines: {} }, onlyWith: { lines: { wrapp: [true] } } },
    handler,
  }),
  // @ts-expect-error a measure without its bounds
  defineHelper({ summary, input: { type: 'object', properties: { width: { measure: true } } }, handler }),
];

export const declarations = [
  // @ts-expect-error the handler is missing under its name
  defineHelper({ summary, input, handlr: handler }),
  // @ts-expect-error a field that there is not
  defineHelper({ summary, input, handler, timeoutMS: 100 }),
  // @ts-expect-error no parameters at all
  defineHelper({ summary, handler }),
  // @ts-expect-error parameters are an object
  defineHelper({ summary, input: { type: 'array' }, handler }),
  // @ts-expect-error required, but no parameter
  defineHelper({ summary, input: { type: 'object', properties: { a: {} }, required: ['b'] }, handler }),
  // @ts-expect-error an example of a parameter that there is not
  defineHelper({ summary, input, examples: [{ input: { b: 1 } }], handler }),
  // @ts-expect-error a source that there is not
  defineHelper({ summary, input, source: 'images', handler }),
  // @ts-expect-error a picture is work for the pool
  defineHelper({ summary, input, source: 'image', runs: 'inline', handler }),
  // @ts-expect-error in files too
  defineHelper({ summary, input, files: { a: { kind: 'image' } }, runs: 'inline', handler }),
  // @ts-expect-error a short call brings no file
  defineHelper({ summary, input, source: 'image', inline: () => true, handler }),
  // @ts-expect-error nor does a dry run
  defineHelper({ summary, input, files: { a: { kind: 'bytes' } }, dryrun: 'run', handler }),
  // @ts-expect-error a kind that there is not
  defineHelper({ summary, input, files: { a: { kind: 'text' } }, handler }),
  // @ts-expect-error a misspelt field of a file
  defineHelper({ summary, input, files: { a: { kind: 'bytes', require: true } }, handler }),
  // @ts-expect-error a setting without its variable
  defineHelper({ summary, input, config: { key: { secret: true } }, handler }),
  // @ts-expect-error a misspelt field of a setting
  defineHelper({ summary, input, config: { key: { env: 'A', secrt: true } }, handler }),
];

export const results = [
  // @ts-expect-error neither data nor bytes
  defineHelper({ summary, input, handler: () => 'text' }),
  // @ts-expect-error what is required is missing
  defineHelper({ summary, input, output, handler: () => ({ words: [] }) }),
  // @ts-expect-error not one of the values
  defineHelper({ summary, input, output, handler: () => ({ kind: 'prime' }) }),
  // @ts-expect-error of another type
  defineHelper({ summary, input, output, handler: async () => ({ kind: 'odd', words: 'one' }) }),
  // @ts-expect-error a code that is the gateway's own
  fail('internal', 'No.'),
];
