import type { FuncKeywordDefinition } from 'ajv';
import { asSchema, type JsonSchema } from '../json-schema.js';
import { quote } from '../quote.js';

/** The values of another parameter beside which one makes sense, in their normal form. */
export interface Condition {
  parameter: string;
  values: readonly unknown[];
}

/**
 * `onlyWith: { quality: { format: ['jpg', 'webp'] } }` at the top of an input: a parameter that is to be sent beside these values of
 * another alone. It is no keyword that ajv judges by: what matters is what was sent, and ajv has filled in the defaults by then.
 */
export const onlyWithKeyword: FuncKeywordDefinition = {
  keyword: 'onlyWith',
  type: 'object',
  metaSchema: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        type: 'array',
        minItems: 1,
        items: { type: ['string', 'number', 'boolean'] },
      },
    },
    examples: [{ quality: { format: ['jpg', 'webp'] } }],
  },
  validate: () => true,
  errors: false,
};

/** The conditions of each parameter that has any, of an input's schema; all of them must hold. What is no list of values is left out. */
export function onlyWithOf({ onlyWith }: JsonSchema): ReadonlyMap<string, readonly Condition[]> {
  const rules = Object.entries(asSchema(onlyWith)).map(([name, conditions]) => {
    const each = Object.entries(asSchema(conditions)).flatMap(([parameter, values]) =>
      Array.isArray(values) ? [{ parameter, values }] : [],
    );
    return [name, each] as const;
  });
  return new Map(rules.filter(([, each]) => each.length > 0));
}

/** `the formats jpg, webp and avif`, `wrap true`: beside what a parameter makes sense. */
export function conditionForm({ parameter, values }: Condition): string {
  if (!values.every((value) => typeof value === 'string')) {
    return `${parameter} ${joined(values, 'or')}`;
  }
  return values.length === 1
    ? `the ${parameter} ${joined(values, 'and')}`
    : `the ${parameter}s ${joined(values, 'and')}`;
}

/** A value of the condition's parameter, as it stands after "with": `png`, `wrap false`. */
export function givenForm({ parameter }: Condition, value: unknown): string {
  if (value === undefined) return `without ${parameter}`;
  return typeof value === 'string' ? `with ${wordOf(value)}` : `with ${parameter} ${wordOf(value)}`;
}

function joined(values: readonly unknown[], word: string): string {
  return values
    .map(wordOf)
    .join(', ')
    .replace(/, ([^,]*)$/, ` ${word} $1`);
}

function wordOf(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w.-]+$/.test(value) ? value : quote(value);
}
