import type { ErrorObject } from 'ajv';
import { anything, describeBriefly } from './describe.js';
import { type FieldProblem, joinField, mostProblems } from './field-problem.js';
import {
  alternativeKeywords,
  asSchema,
  findTag,
  followReference,
  isObject,
  type JsonSchema,
  subschemas,
  typeOfValue,
  typesOf,
  unescapePointer,
} from './json-schema.js';
import { isOwnKeyword } from './keywords/keywords.js';
import { didYouMean, mostMeant } from './nearest.js';
import { describeValue } from './quote.js';

/** An error of ajv's with those that an `anyOf` or `oneOf` gathered from its alternatives. */
interface ErrorNode {
  error: ErrorObject;
  inner: ErrorNode[];
}

/** What replaces an `anyOf`'s or `oneOf`'s own error: other errors, or words, about the property `of`. */
type Explained = { nodes: ErrorNode[] } | { problem: string; of?: string };

/** Nests the errors from inside of alternatives under the error of the whole; ajv lists them right before it. */
function nestErrors(errors: readonly ErrorObject[], root: JsonSchema): ErrorNode[] {
  const nodes: ErrorNode[] = [];
  for (const error of errors) {
    const inner: ErrorNode[] = [];
    if (alternativeKeywords.includes(error.keyword) && Array.isArray(error.schema)) {
      const branches = error.schema.map((branch) => reachable(branch, root));
      for (let last = nodes.at(-1); last && isInside(last.error, error, branches); last = nodes.at(-1)) {
        inner.unshift(last);
        nodes.pop();
      }
    }
    nodes.push({ error, inner });
  }
  return nodes;
}

/** What to say where no alternative fits, or more than the one that may. */
function explainAlternatives({ error, inner }: ErrorNode, root: JsonSchema): Explained {
  const { data, params } = error;
  const branches = Array.isArray(error.schema) ? error.schema : [];
  const forms = describeBriefly({ anyOf: branches }, root);
  if (params.passingSchemas) return { problem: `must be only one of: ${forms}` };
  const type = typeOfValue(data);
  const ofType = branches.filter((branch) => accepts(branch, type, root));
  if (ofType.length === 0 || typeof data !== 'object') {
    return { problem: `must be ${forms}, but is ${describeValue(data)}` };
  }
  const errorsOf = (branch: unknown) => {
    const schemas = reachable(branch, root);
    return inner.filter(({ error: each }) => schemas.has(each.parentSchema as object));
  };
  const tag = findTag(ofType, asSchema(error.parentSchema), root);
  if (tag !== undefined && isObject(data)) {
    const { [tag.name]: given } = data;
    const chosen = tag.values.findIndex((values) => values.includes(given));
    if (chosen >= 0) return { nodes: errorsOf(ofType[chosen]) };
    const allowed = { enum: tag.values.flat() };
    const problem = given === undefined ? requiredProblem(allowed, root) : mismatch(allowed, given);
    return { of: tag.name, problem };
  }
  if (ofType.length === 1) return { nodes: errorsOf(ofType[0]) };
  const areUnknownNames = (nodes: ErrorNode[]) =>
    nodes.length > 0 && nodes.every(({ error: { keyword } }) => keyword === 'additionalProperties');
  const likely = ofType.map(errorsOf).filter(areUnknownNames);
  const [nearest] = likely.sort((one, other) => one.length - other.length);
  return nearest ? { nodes: nearest } : { problem: `must be ${forms}, but fits none of these` };
}

function accepts(branch: unknown, type: string, root: JsonSchema): boolean {
  if (typeof branch === 'boolean') return branch;
  const types = typesOf(followReference(asSchema(branch), root));
  return types.length === 0 || types.includes(type) || (type === 'number' && types.includes('integer'));
}

function isInside(error: ErrorObject, outer: ErrorObject, branches: readonly Set<object>[]): boolean {
  const { instancePath: path } = error;
  if (path !== outer.instancePath && !path.startsWith(`${outer.instancePath}/`)) return false;
  return branches.some((schemas) => schemas.has(error.parentSchema as object));
}

const reached = new WeakMap<object, Set<object>>();

/** Every schema inside of `branch`, behind references too: errors name the schema that they are of. */
function reachable(branch: unknown, root: JsonSchema): Set<object> {
  if (!isObject(branch)) return new Set();
  const before = reached.get(branch);
  if (before) return before;
  const found = new Set<object>();
  const waiting: JsonSchema[] = [branch];
  for (let schema = waiting.pop(); schema; schema = waiting.pop()) {
    if (found.has(schema)) continue;
    found.add(schema);
    waiting.push(...subschemas(schema).map((each) => each.schema), followReference(schema, root));
  }
  reached.set(branch, found);
  return found;
}

/** Of a longer list of values, the one that was meant is worth naming. */
const shortList = 5;
/** Comparisons for all hints of an answer, a few microseconds each: they block the thread. */
const mostComparisons = 5_000;

/**
 * ajv's errors as problems, one for each field, however many rules it broke. A nested field is written `keep.2` or
 * `size.width`. `root` is the whole schema, for its references. Needs ajv's option `verbose`.
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
    const isAlternative = alternativeKeywords.includes(keyword);
    // Problems past these are only counted.
    if (
      chosen.size < mostProblems &&
      isAlternative &&
      (field !== '' || missingParameters(node).length === 0)
    ) {
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
    if (index >= mostProblems) return { field, problem: 'is not valid' };
    if (field === '') return problemOfWhole(finding.node, root);
    return { field, problem: finding.problem ?? problemOf(finding.node.error, root, hint) };
  });
}

/** The problem of a field: an error, and its words where they do not follow from it alone. */
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
  return isOwnKeyword(error.keyword) ? 1 : 2;
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

function problemOf(error: ErrorObject, root: JsonSchema, hint: Hint): string {
  const { keyword, params, data, parentSchema, message } = error;
  const schema = asSchema(parentSchema);
  const known = asSchema(schema.properties);
  if (isOwnKeyword(keyword)) return message ?? mismatch(schema, data, root);
  switch (keyword) {
    case 'required':
      return requiredProblem(known[params.missingProperty], root);
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
      return forbiddenProblem(asSchema(error.schema), root);
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
function forbiddenProblem(schema: JsonSchema, root: JsonSchema): string {
  const { required: names, properties, type: _, ...others } = schema;
  const asksForNames = Object.values({ ...asSchema(properties), ...others }).every((each) => each === true);
  if (Array.isArray(names) && asksForNames) {
    return `must not have ${names.join(' and ')}${names.length > 1 ? ' together' : ''}`;
  }
  const form = describeBriefly(schema, root);
  return form === anything ? 'is a combination that is not allowed' : `must not be ${form}`;
}

function requiredProblem(schema: unknown, root: JsonSchema): string {
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
  if (typeof data !== 'string' || !Array.isArray(values) || values.length <= shortList) return '';
  const texts = values.filter((value) => typeof value === 'string');
  return hint(data, texts, mostMeant);
}

/** The parameters that the alternatives of the whole input ask for, each once. */
function missingParameters({ error, inner }: ErrorNode): string[] {
  if (error.instancePath !== '') return [];
  const missing = inner.filter(({ error: each }) => each.keyword === 'required' && each.instancePath === '');
  return [...new Set(missing.map(({ error: each }): string => each.params.missingProperty))];
}

function problemOfWhole(node: ErrorNode, root: JsonSchema): FieldProblem {
  const { error } = node;
  const [first, ...others] = missingParameters(node);
  if (first !== undefined && alternativeKeywords.includes(error.keyword)) {
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
