/** Compiled, never run: the three views of one input. */
import type { DryrunInputOf, InputOf, Schema, SentInputOf, ValueOf } from '../../../gateway/helper.js';
import type { Equal, Expect } from './equal.js';

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

export type Views = [
  Expect<Equal<InputOf<typeof schema>, Same<Got>>>,
  Expect<Equal<Same<DryrunInputOf<typeof schema>>, Same<Rehearsed>>>,
  Expect<Equal<SentInputOf<typeof schema>, Same<Sent>>>,
];

/** Without parameters there is none, and of a schema that is only known to be one nothing can be said. */
export type Bare = [
  Expect<Equal<InputOf<{ type: 'object' }>, Record<never, never>>>,
  Expect<Equal<ValueOf<Schema>, unknown>>,
];
