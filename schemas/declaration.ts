import { Ajv } from 'ajv';
import { toProblems } from './explain-errors.js';
import { asSchema, isObject } from './json-schema.js';
import { didYouMean } from './nearest.js';
import { reservedNames } from './parameters/gateway-parameters.js';
import { describeValue, quote } from './quote.js';

/** JSON Schema of a plugin's default export. `callable: true` is a function, which JSON Schema has no word for. */
export const declarationSchema = {
  type: 'object',
  required: ['summary', 'input', 'handler'],
  additionalProperties: false,
  properties: {
    summary: { type: 'string', minLength: 1, pattern: '\\S' },
    description: { type: 'string' },
    runs: { type: 'string', enum: ['inline', 'pool'] },
    inline: { callable: true },
    source: { type: 'string', enum: ['image'] },
    input: {
      type: 'object',
      required: ['type'],
      properties: {
        type: { const: 'object' },
        properties: { type: 'object', additionalProperties: { type: 'object' } },
      },
    },
    examples: {
      type: 'array',
      items: {
        type: 'object',
        required: ['input'],
        additionalProperties: false,
        properties: { summary: { type: 'string' }, input: { type: 'object' } },
      },
    },
    dryrun: { anyOf: [{ const: 'run' }, { callable: true }] },
    handler: { callable: true },
  },
} as const;

const parameterName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const neverNames = new Set(['__proto__', 'constructor', 'prototype']);
/** Keywords that let in parameters without a name, or make a validator that answers later. */
const refusedKeywords = ['patternProperties', 'propertyNames', '$async', '$ref'];

const ajv = new Ajv({ strict: true, allErrors: true, ownProperties: true, verbose: true });
ajv.addKeyword({
  keyword: 'callable',
  metaSchema: { const: true },
  validate: (_: true, value: unknown) => typeof value === 'function',
});
const validate = ajv.compile(declarationSchema);

/** What is wrong with a plugin's default export, for its author; empty where it is a declaration. */
export function checkDeclaration(value: unknown): string[] {
  if (!isObject(value)) {
    return [`the default export must be a helper declaration, but is ${describeValue(value)}`];
  }
  const reasons: string[] = [];
  if (!validate(value)) {
    for (const { field, problem } of toProblems(validate.errors ?? []))
      reasons.push(reasonFor(value, field, problem));
  }
  if (value.source === 'image' && value.runs === 'inline') {
    reasons.push('runs must be "pool" where source is "image"');
  }
  if (value.source === 'image' && value.dryrun === 'run') {
    reasons.push('dryrun must be a function where source is "image": a dry run brings no picture');
  }
  return [...reasons, ...parameterReasons(value)];
}

function reasonFor(value: Record<string, unknown>, field: string, problem: string): string {
  const known = Object.keys(declarationSchema.properties);
  if (Object.hasOwn(value, field) && !known.includes(field)) {
    return `${field} is not part of a declaration${didYouMean(field, known)}`;
  }
  if (field === 'summary') return 'summary must be a sentence that says what the helper does';
  if (field === 'handler') return `handler must be a function, but is ${describeValue(value.handler)}`;
  if (field === 'dryrun') return `dryrun must be "run" or a function, but is ${describeValue(value.dryrun)}`;
  return `${field} ${problem}`;
}

function parameterReasons({ input, source }: Record<string, unknown>): string[] {
  const schema = asSchema(input);
  const reserved = reservedNames(source);
  const reasons = refusedKeywords
    .filter((keyword) => Object.hasOwn(schema, keyword))
    .map((keyword) => `input.${keyword} cannot be used: every parameter is listed in input.properties`);
  for (const name of Object.keys(asSchema(schema.properties))) {
    if (reserved.includes(name)) {
      reasons.push(`the parameter ${name} is the gateway's own; give it another name`);
    } else if (!parameterName.test(name) || neverNames.has(name)) {
      reasons.push(
        `the parameter ${quote(name)} needs another name: a letter or _ and at most 63 letters, digits, _ and -`,
      );
    }
  }
  return reasons;
}
