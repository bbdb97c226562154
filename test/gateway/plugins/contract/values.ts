/** Compiled, never run: what handlers and callers see of a schema. */
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

/** The rows whose first part does not describe the values of their second part. */
type Wrong<Rows extends readonly unknown[]> = {
  [At in keyof Rows]: Rows[At] extends [infer S, infer Value]
    ? Equal<ValueOf<S>, Value> extends true
      ? never
      : Rows[At]
    : never;
}[number];

type Plain = [
  [{ type: 'string'; maxLength: 5 }, string],
  [{ type: 'integer' }, number],
  [{ type: 'boolean' }, boolean],
  [{ type: 'null' }, null],
  [{ type: readonly ['number', 'string'] }, number | string],
  [{ type: 'string'; nullable: true }, string | null],
  [{ const: 'circle' }, 'circle'],
  [{ enum: readonly ['a', 2, null] }, 'a' | 2 | null],
  [{ type: 'string'; enum: readonly string[] }, string],
  [{ description: 'Anything.' }, unknown],
  [true, unknown],
  [false, never],
  // Of a schema that is only known to be one, nothing is known.
  [Schema, unknown],
];

type Length<Setting> = {
  type: readonly ['integer', 'string'];
  measure: { minimum: 0; maximum: 9 } & Setting;
};
type NormalForms = [
  // A picture accepts what a handler gets.
  [Length<{ percent: true }>, Measure],
  [Length<{ percent: true }>, BorderOptions['width']],
  [Length<{ percent: true }>, number | `${number}%`],
  [Length<unknown>, number],
  [Length<{ auto: true }>, number | 'auto'],
  [Length<{ percent: true; auto: true }>, number | `${number}%` | 'auto'],
  [{ type: 'string'; color: true }, `#${string}`],
  [{ type: 'string'; color: { auto: true } }, `#${string}` | 'auto'],
  [{ type: readonly ['number', 'string']; fraction: true }, number],
  [{ type: 'string'; choice: { png: []; jpg: ['jpeg'] } }, 'png' | 'jpg'],
  [{ type: 'string'; drawable: true }, string],
];

type Has<P, Required extends readonly string[] = readonly []> = {
  type: 'object';
  properties: P;
  required: Required;
};
type Text = { type: 'string' };
type Count = { type: 'number' };
type Combined = [
  [{ type: 'array'; items: Text }, string[]],
  [{ type: 'array' }, unknown[]],
  [{ type: 'array'; items: readonly [Text, Count] }, [string, number]],
  [{ type: 'array'; items: Has<{ k: Text }, readonly ['k']> }, { k: string }[]],
  [{ type: 'object' }, Record<string, unknown>],
  [{ type: 'object'; additionalProperties: Count }, Record<string, number>],
  [
    Has<
      { q: { type: 'integer'; default: 80 }; width: Count; inner: Has<{ on: { type: 'boolean' } }, ['on']> },
      ['width']
    >,
    { q: number; width: number; inner?: { on: boolean } },
  ],
  [{ anyOf: readonly [Text, Count] }, string | number],
  [
    {
      oneOf: readonly [
        Has<{ kind: { const: 'circle' }; r: Count }, ['kind', 'r']>,
        Has<{ kind: { const: 'square' }; side: Count }, ['kind', 'side']>,
      ];
    },
    { kind: 'circle'; r: number } | { kind: 'square'; side: number },
  ],
  [
    Has<{ a: Text; b: Count }> & { anyOf: readonly [{ required: ['a'] }, { required: ['b'] }] },
    { a: string; b?: number } | { a?: string; b: number },
  ],
  [
    Has<{ name: Text }, ['name']> & {
      allOf: readonly [{ properties: { age: Count } }, { $ref: '#/definitions/named' }];
      definitions: { named: { properties: { nick: Text }; required: ['nick'] } };
    },
    { name: string; age?: number; nick: string },
  ],
];

type Tree = ValueOf<
  Has<
    { root: { $ref: '#/$defs/node' }; lost: { $ref: '#/$defs/gone' }; loop: { $ref: '#/$defs/loop' } },
    ['root', 'lost', 'loop']
  > & {
    $defs: {
      node: Has<
        { text: Text; children: { type: 'array'; items: { $ref: '#/$defs/node' } } },
        ['text', 'children']
      >;
      loop: { $ref: '#/$defs/loop' };
    };
  }
>;

export type Values = [
  Expect<Equal<Wrong<Plain> | Wrong<NormalForms> | Wrong<Combined>, never>>,
  Expect<Equal<Tree['root']['children'][0]['children'][0]['text'], string>>,
  Expect<Equal<[Tree['lost'], Tree['loop']], [unknown, unknown]>>,
];

/** Handlers, dry runs and callers see one input differently. */
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
interface DryRun extends Omit<Got, 'text'> {
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
  Expect<Equal<Same<DryrunInputOf<typeof schema>>, Same<DryRun>>>,
  Expect<Equal<SentInputOf<typeof schema>, Same<Sent>>>,
  Expect<Equal<InputOf<{ type: 'object' }>, Record<never, never>>>,
];
