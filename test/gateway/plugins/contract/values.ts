import type {
  BorderOptions,
  DryrunInputOf,
  InputOf,
  Measure,
  Schema,
  SentInputOf,
  ValueOf,
} from '../../../../gateway/helper.js';
import type { Equal, Expect } from './equal.js';

/** Compiled, never run: what a handler gets for a schema. */

type Plain = [
  Expect<Equal<ValueOf<{ type: 'string'; maxLength: 5 }>, string>>,
  Expect<Equal<ValueOf<{ type: 'integer' }>, number>>,
  Expect<Equal<ValueOf<{ type: 'boolean' }>, boolean>>,
  Expect<Equal<ValueOf<{ type: 'null' }>, null>>,
  Expect<Equal<ValueOf<{ type: readonly ['number', 'string'] }>, number | string>>,
  Expect<Equal<ValueOf<{ type: 'string'; nullable: true }>, string | null>>,
  Expect<Equal<ValueOf<{ const: 'circle' }>, 'circle'>>,
  Expect<Equal<ValueOf<{ enum: readonly ['a', 2, null] }>, 'a' | 2 | null>>,
  Expect<Equal<ValueOf<{ type: 'string'; enum: readonly string[] }>, string>>,
  Expect<Equal<ValueOf<{ description: 'Anything.' }>, unknown>>,
  Expect<Equal<ValueOf<true>, unknown>>,
  Expect<Equal<ValueOf<false>, never>>,
];

type Length<Setting> = { type: readonly ['integer', 'string']; measure: Setting };
type NormalForms = [
  // What a handler gets goes to a picture as it is.
  Expect<Equal<ValueOf<Length<{ minimum: 0; maximum: 9; percent: true }>>, Measure>>,
  Expect<Equal<BorderOptions['width'], Measure>>,
  Expect<Equal<ValueOf<{ type: 'string'; color: true }>, `#${string}`>>,
  Expect<Equal<ValueOf<{ type: readonly ['number', 'string']; fraction: true }>, number>>,
  Expect<Equal<ValueOf<{ type: 'string'; choice: { png: []; jpg: ['jpeg'] } }>, 'png' | 'jpg'>>,
  Expect<Equal<ValueOf<{ type: 'string'; drawable: true }>, string>>,
  Expect<Equal<ValueOf<{ type: 'string'; color: { auto: true } }>, `#${string}` | 'auto'>>,
  Expect<Equal<ValueOf<Length<{ minimum: 0; maximum: 9 }>>, number>>,
  Expect<Equal<ValueOf<Length<{ minimum: 0; maximum: 9; percent: true }>>, number | `${number}%`>>,
  Expect<Equal<ValueOf<Length<{ minimum: 0; maximum: 9; auto: true }>>, number | 'auto'>>,
  Expect<
    Equal<
      ValueOf<Length<{ minimum: 0; maximum: 9; percent: true; auto: true }>>,
      number | `${number}%` | 'auto'
    >
  >,
];

type Lists = [
  Expect<Equal<ValueOf<{ type: 'array'; items: { type: 'string' } }>, string[]>>,
  Expect<Equal<ValueOf<{ type: 'array' }>, unknown[]>>,
  Expect<
    Equal<
      ValueOf<{ type: 'array'; items: readonly [{ type: 'string' }, { type: 'integer' }] }>,
      [string, number]
    >
  >,
  Expect<
    Equal<
      ValueOf<{
        type: 'array';
        items: { type: 'object'; properties: { k: { type: 'string' } }; required: ['k'] };
      }>,
      { k: string }[]
    >
  >,
];

type Nested = ValueOf<{
  type: 'object';
  properties: {
    q: { type: 'integer'; default: 80 };
    width: { type: 'number' };
    inner: { type: 'object'; properties: { on: { type: 'boolean' } }; required: readonly ['on'] };
  };
  required: readonly ['width'];
}>;
type Objects = [
  Expect<Equal<Nested, { q: number; width: number; inner?: { on: boolean } }>>,
  Expect<Equal<ValueOf<{ type: 'object' }>, Record<string, unknown>>>,
  Expect<
    Equal<ValueOf<{ type: 'object'; additionalProperties: { type: 'number' } }>, Record<string, number>>
  >,
];

type Shapes = ValueOf<{
  oneOf: readonly [
    {
      type: 'object';
      properties: { kind: { const: 'circle' }; r: { type: 'number' } };
      required: readonly ['kind', 'r'];
    },
    {
      type: 'object';
      properties: { kind: { const: 'square' }; side: { type: 'number' } };
      required: readonly ['kind', 'side'];
    },
  ];
}>;
type OneOfTwo = ValueOf<{
  type: 'object';
  properties: { a: { type: 'string' }; b: { type: 'number' } };
  anyOf: readonly [{ required: readonly ['a'] }, { required: readonly ['b'] }];
}>;
type Beside = ValueOf<{
  type: 'object';
  properties: { name: { type: 'string' } };
  required: readonly ['name'];
  allOf: readonly [{ properties: { age: { type: 'integer' } } }, { $ref: '#/definitions/named' }];
  definitions: { named: { properties: { nick: { type: 'string' } }; required: readonly ['nick'] } };
}>;
type Alternatives = [
  Expect<Equal<Shapes, { kind: 'circle'; r: number } | { kind: 'square'; side: number }>>,
  Expect<Equal<ValueOf<{ anyOf: readonly [{ type: 'string' }, { type: 'integer' }] }>, string | number>>,
  Expect<Equal<OneOfTwo, { a: string; b?: number } | { a?: string; b: number }>>,
  Expect<Equal<Beside, { name: string; age?: number; nick: string }>>,
];

type Tree = ValueOf<{
  type: 'object';
  properties: {
    root: { $ref: '#/$defs/node' };
    lost: { $ref: '#/$defs/gone' };
    loop: { $ref: '#/$defs/loop' };
  };
  required: readonly ['root', 'lost', 'loop'];
  $defs: {
    node: {
      type: 'object';
      properties: { text: { type: 'string' }; children: { type: 'array'; items: { $ref: '#/$defs/node' } } };
      required: readonly ['text', 'children'];
    };
    loop: { $ref: '#/$defs/loop' };
  };
}>;
type References = [
  Expect<Equal<Tree['root']['children'][0]['children'][0]['text'], string>>,
  Expect<Equal<Tree['lost'], unknown>>,
  Expect<Equal<Tree['loop'], unknown>>,
];

export type Values = [Plain, NormalForms, Lists, Objects, Alternatives, References];

/** Compiled, never run: the three views of one input. */

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: 100 },
    color: { type: 'string', color: true, default: 'black' },
    format: { type: 'string', choice: { png: [], jpg: ['jpeg'] }, default: 'png' },
    size: {
      type: 'object',
      properties: { width: { type: 'integer' }, unit: { enum: ['px', 'em'], default: 'px' } },
      required: ['width'],
    },
  },
  required: ['text'],
} as const satisfies Schema;

interface Got {
  text: string;
  color: `#${string}`;
  format: 'png' | 'jpg';
  size?: { width: number; unit: 'px' | 'em' };
}
interface Rehearsed extends Omit<Got, 'text'> {
  text?: string;
}
interface Sent {
  text: string;
  color?: string;
  format?: 'png' | 'jpg' | 'jpeg' | 'PNG' | 'JPG' | 'JPEG';
  size?: { width: number; unit?: 'px' | 'em' };
}
type Same<T> = { [K in keyof T]: T[K] };

export type InputViews = [
  Expect<Equal<InputOf<typeof schema>, Same<Got>>>,
  Expect<Equal<Same<DryrunInputOf<typeof schema>>, Same<Rehearsed>>>,
  Expect<Equal<SentInputOf<typeof schema>, Same<Sent>>>,
];

/** Without parameters there is none, and of a schema that is only known to be one nothing can be said. */
export type Bare = [
  Expect<Equal<InputOf<{ type: 'object' }>, Record<never, never>>>,
  Expect<Equal<ValueOf<Schema>, unknown>>,
];
