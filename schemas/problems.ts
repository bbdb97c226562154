import type { ErrorObject } from 'ajv';
import { asSchema } from './json-schema.js';
import { didYouMean } from './nearest.js';
import type { FieldProblem } from './problem.js';
import { describeValue, quote } from './quote.js';
import { describeProperty } from './vocabulary/describe.js';

/** Problems that are told at most; the others are counted in one more with the field `*`. */
export const toldProblems = 50;

const plainKey = /^[\p{L}_$][\p{L}\p{N}_$-]{0,63}$/u;
const alternatives = new Set(['anyOf', 'oneOf']);
const ownKeywords = new Set(['color', 'choice', 'fraction', 'drawable']);

/**
 * ajv's errors as problems, one for each field, however many rules it broke. A nested field is written `keep[2]` or
 * `size.width`. Needs ajv's option `verbose`.
 */
export function toProblems(errors: readonly ErrorObject[]): FieldProblem[] {
  const failed = new Set(
    errors.filter(({ keyword }) => alternatives.has(keyword)).map((each) => each.schemaPath),
  );
  const missing = new Set<string>();
  const chosen = new Map<string, ErrorObject>();
  for (const error of errors) {
    // What every alternative lacks says less than what the alternatives are.
    if (failed.size > 0 && isInside(error.schemaPath, failed)) {
      if (error.keyword === 'required' && error.instancePath === '')
        missing.add(error.params.missingProperty);
      continue;
    }
    if (error.keyword === 'if') continue;
    const field = fieldOf(error);
    const other = chosen.get(field);
    if (other === undefined || rank(error) < rank(other)) chosen.set(field, error);
  }
  return Array.from(chosen, ([field, error]) =>
    field === '' ? ofTheWhole(error, [...missing]) : { field, problem: problemOf(error) },
  );
}

/** The first 50 problems, and one more that counts the others: what was sent must not decide how much is answered. */
export function boundProblems(problems: readonly FieldProblem[], total = problems.length): FieldProblem[] {
  if (total <= toldProblems) return [...problems];
  const more = total - toldProblems;
  const rest = { field: '*', problem: `has ${more} more ${more === 1 ? 'problem' : 'problems'}` };
  return [...problems.slice(0, toldProblems), rest];
}

/** `must be an integer from 0 to 5000, but is the string "abc"` */
export function mismatch(schema: unknown, value: unknown): string {
  return `must be ${describeProperty(asSchema(schema))}, but is ${describeValue(value)}`;
}

function isInside(schemaPath: string, outer: Set<string>): boolean {
  for (let end = schemaPath.lastIndexOf('/'); end > 0; end = schemaPath.lastIndexOf('/', end - 1)) {
    if (outer.has(schemaPath.slice(0, end))) return true;
  }
  return false;
}

function rank(error: ErrorObject): number {
  if (error.keyword === 'type') return 0;
  return ownKeywords.has(error.keyword) ? 1 : 2;
}

function fieldOf({ instancePath, params, keyword }: ErrorObject): string {
  const keys = instancePath.split('/').slice(1).map(unescapePointer);
  if (keyword === 'required' || keyword === 'dependentRequired' || keyword === 'dependencies') {
    keys.push(params.missingProperty);
  }
  if (keyword === 'additionalProperties') keys.push(params.additionalProperty);
  return keys.reduce((path, key) => {
    if (/^\d+$/.test(key)) return `${path}[${key}]`;
    if (!plainKey.test(key)) return `${path}[${quote(key)}]`;
    return path === '' ? key : `${path}.${key}`;
  }, '');
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function problemOf(error: ErrorObject): string {
  const { keyword, params, data, parentSchema, message } = error;
  const schema = asSchema(parentSchema);
  const known = asSchema(schema.properties);
  if (ownKeywords.has(keyword)) return message ?? mismatch(schema, data);
  switch (keyword) {
    case 'required':
      return required(known[params.missingProperty]);
    case 'dependentRequired':
    case 'dependencies':
      return `is required where ${params.property} is given`;
    case 'additionalProperties':
      return `is not known here${didYouMean(params.additionalProperty, Object.keys(known))}`;
    case 'minLength':
    case 'maxLength':
      return `must be ${describeProperty(schema)}, but has ${countCharacters(data as string)}`;
    case 'minItems':
    case 'maxItems':
      return `must be ${describeProperty(schema)}, but has ${(data as unknown[]).length}`;
    case 'uniqueItems':
      return `must be ${describeProperty(schema)}, but items ${params.j} and ${params.i} are equal`;
    case 'oneOf':
      if (params.passingSchemas) return `must be only one of: ${describeProperty(schema)}`;
      return mismatch(schema, data);
    case 'not':
      return `must not be ${describeProperty(asSchema(error.schema))}`;
    default:
      return mismatch(schema, data);
  }
}

function required(schema: unknown): string {
  return schema === undefined ? 'is required' : `is required: ${describeProperty(asSchema(schema))}`;
}

function ofTheWhole(error: ErrorObject, missing: string[]): FieldProblem {
  const [first, ...others] = missing;
  if (first !== undefined && alternatives.has(error.keyword)) {
    const instead = others.length > 0 ? `, or in its place ${others.join(' or ')}` : '';
    return { field: first, problem: `is required${instead}` };
  }
  if (error.params.passingSchemas) {
    return { field: '*', problem: 'fits more than one alternative; send the parameters of only one' };
  }
  return { field: '*', problem: `together ${error.message ?? 'are not valid'}` };
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
