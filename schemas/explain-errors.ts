import type { ErrorObject } from 'ajv';
import { type ErrorNode, explainAlternatives, nestErrors } from './explain-alternatives.js';
import { type FieldProblem, toldProblems } from './field-problem.js';
import { asSchema, choices, isObject, type JsonSchema, unescapePointer } from './json-schema.js';
import { didYouMean, mostMeant } from './nearest.js';
import { describeValue, quote } from './quote.js';
import { anything, describeBriefly } from './vocabulary/describe.js';

/** Values that a person sees at a glance; of more, the one that was meant is worth naming. */
const overseen = 5;
/** Comparisons that all hints of an answer may take, some microseconds each: others wait meanwhile. */
const mostComparisons = 5_000;
const plainKey = /^(?:[\p{L}_$][\p{L}\p{N}_$-]{0,63}|\d+)$/u;
const ownKeywords = new Set([
  'color',
  'choice',
  'fraction',
  'measure',
  'drawable',
  'encodable',
  'line',
  'day',
  'future',
  'scopes',
]);

/**
 * ajv's errors as problems, one for each field, however many rules it broke. A nested field is written `keep.2` or
 * `size.width`. `root` is the schema that was judged by, for its references. Needs ajv's option `verbose`.
 */
export function toProblems(errors: readonly ErrorObject[], root: JsonSchema = {}): FieldProblem[] {
  const chosen = new Map<string, Finding>();
  const waiting = nestErrors(errors, root).reverse();
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const { keyword } = node.error;
    // `if` says less than its `then`; what a tag must be, a rule of its own says.
    if (keyword === 'if' || keyword === 'discriminator') continue;
    const field = fieldOf(node.error);
    let finding: Finding = { node };
    // Past what is told, nothing needs explaining.
    const isTold = chosen.size < toldProblems;
    if (isTold && choices.includes(keyword) && (field !== '' || lacking(node).length === 0)) {
      const explained = explainAlternatives(node, root);
      if ('nodes' in explained && explained.nodes.length > 0) {
        waiting.push(...explained.nodes.toReversed());
        continue;
      }
      if ('problem' in explained) finding = { node, ...explained };
    }
    const place = finding.of === undefined ? field : joinField(field, finding.of);
    const other = chosen.get(place);
    if (other === undefined || rank(node.error) < rank(other.node.error)) chosen.set(place, finding);
  }
  const hint = createHint();
  return Array.from(chosen, ([field, finding], index) => {
    // What is past the problems that are told is only counted, and need not be worded.
    if (index >= toldProblems) return { field, problem: 'is not valid' };
    if (field === '') return ofTheWhole(finding.node, root);
    return { field, problem: finding.problem ?? problemOf(finding.node.error, root, hint) };
  });
}

/** What is told of a field: the error, and its words where they do not follow from it alone. */
interface Finding {
  node: ErrorNode;
  problem?: string;
  of?: string;
}

/** `must be an integer from 0 to 5000, but is the string "abc"` */
export function mismatch(schema: unknown, value: unknown, root: JsonSchema = {}): string {
  return `must be ${describeBriefly(asSchema(schema), root)}, but is ${describeValue(value)}`;
}

function rank(error: ErrorObject): number {
  if (error.keyword === 'type') return 0;
  return ownKeywords.has(error.keyword) ? 1 : 2;
}

/** The field that an error is about: for a name that is missing, or should not be there, that name. */
export function fieldOf({ instancePath, params, keyword }: ErrorObject): string {
  const keys = instancePath.split('/').slice(1).map(unescapePointer);
  if (keyword === 'required' || keyword === 'dependentRequired' || keyword === 'dependencies') {
    keys.push(params.missingProperty);
  }
  if (keyword === 'additionalProperties') keys.push(params.additionalProperty);
  return keys.reduce(joinField, '');
}

/** A path of names and places, `keep.2` or `size.width`, with one more at its end. */
export function joinField(path: string, key: string): string {
  if (!plainKey.test(key)) return `${path}[${quote(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

function problemOf(error: ErrorObject, root: JsonSchema, hint: Hint): string {
  const { keyword, params, data, parentSchema, message } = error;
  const schema = asSchema(parentSchema);
  const known = asSchema(schema.properties);
  if (ownKeywords.has(keyword)) return message ?? mismatch(schema, data, root);
  switch (keyword) {
    case 'required':
      return required(known[params.missingProperty], root);
    case 'dependentRequired':
    case 'dependencies':
      return `is required where ${params.property} is given`;
    case 'additionalProperties':
      return `is not known here${hint(params.additionalProperty, Object.keys(known))}`;
    case 'minLength':
    case 'maxLength':
      return `must be ${describeBriefly(schema, root)}, but has ${countCharacters(data as string)}`;
    case 'minItems':
    case 'maxItems':
      return `must be ${describeBriefly(schema, root)}, but has ${(data as unknown[]).length}`;
    case 'uniqueItems':
      return `must be ${describeBriefly(schema, root)}, but items ${params.j} and ${params.i} are equal`;
    case 'enum':
      return mismatch(schema, data, root) + hintOfValues(schema.enum, data, hint);
    case 'not':
      return forbidden(asSchema(error.schema), root);
    case 'minProperties':
    case 'maxProperties': {
      const bound = `at ${keyword === 'minProperties' ? 'least' : 'most'} ${params.limit}`;
      return `must have ${bound} of its fields, but has ${Object.keys(asSchema(data)).length}`;
    }
    case 'type':
    case 'const':
      return mismatch(schema, data, root);
    default:
      // Of an object or a list, what it is says nothing of what is wrong with it.
      return typeof data === 'object' ? (message ?? 'is not valid') : mismatch(schema, data, root);
  }
}

/** What a `not` forbids: mostly names that must not be there, or not together. */
function forbidden(schema: JsonSchema, root: JsonSchema): string {
  const { required: names, properties, type: _, ...others } = schema;
  const asksForNames = Object.values({ ...asSchema(properties), ...others }).every((each) => each === true);
  if (Array.isArray(names) && asksForNames) {
    return `must not have ${names.join(' and ')}${names.length > 1 ? ' together' : ''}`;
  }
  const form = describeBriefly(schema, root);
  return form === anything ? 'is a combination that is not allowed' : `must not be ${form}`;
}

function required(schema: unknown, root: JsonSchema): string {
  return isObject(schema) ? `is required: ${describeBriefly(schema, root)}` : 'is required';
}

type Hint = typeof didYouMean;

/** `didYouMean` as often as it does not cost too much. */
function createHint(): Hint {
  let left = mostComparisons;
  return (name, candidates, most) => {
    if (left <= 0) return '';
    left -= candidates.length;
    return didYouMean(name, candidates, most);
  };
}

function hintOfValues(values: unknown, data: unknown, hint: Hint): string {
  if (typeof data !== 'string' || !Array.isArray(values) || values.length <= overseen) return '';
  return hint(
    data,
    values.filter((value) => typeof value === 'string'),
    mostMeant,
  );
}

/** The parameters that the alternatives of the whole input ask for, each once. */
function lacking({ error, inner }: ErrorNode): string[] {
  if (error.instancePath !== '') return [];
  const missing = inner.filter(({ error: each }) => each.keyword === 'required' && each.instancePath === '');
  return [...new Set(missing.map(({ error: each }): string => each.params.missingProperty))];
}

function ofTheWhole(node: ErrorNode, root: JsonSchema): FieldProblem {
  const { error } = node;
  const [first, ...others] = lacking(node);
  if (first !== undefined && choices.includes(error.keyword)) {
    const instead = others.length > 0 ? `, or in its place ${others.join(' or ')}` : '';
    return { field: first, problem: `is required${instead}` };
  }
  if (error.params.passingSchemas) {
    return { field: '*', problem: 'fits more than one alternative; send the parameters of only one' };
  }
  const isWorded = ['not', 'minProperties', 'maxProperties'].includes(error.keyword);
  if (isWorded) return { field: '*', problem: problemOf(error, root, didYouMean) };
  return { field: '*', problem: `together ${error.message ?? 'are not valid'}` };
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
