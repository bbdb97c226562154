import type { ErrorObject } from 'ajv';
import {
  asSchema,
  choices,
  followReference,
  isObject,
  type JsonSchema,
  typeOfValue,
  typesOf,
} from './json-schema.js';
import { describeValue } from './quote.js';
import { subschemas } from './subschemas.js';
import { findTag } from './tag.js';
import { describeBriefly } from './vocabulary/describe.js';

/** An error of ajv's with those that an `anyOf` or `oneOf` gathered from its alternatives. */
export interface ErrorNode {
  error: ErrorObject;
  inner: ErrorNode[];
}

/** What to tell in place of an `anyOf`'s or `oneOf`'s own error: other errors, or words, of a property where `of` says so. */
export type Explained = { nodes: ErrorNode[] } | { problem: string; of?: string };

/** Puts the errors from inside of alternatives under the error of the whole; ajv lists them right before it. */
export function nestErrors(errors: readonly ErrorObject[], root: JsonSchema): ErrorNode[] {
  const nodes: ErrorNode[] = [];
  for (const error of errors) {
    const inner: ErrorNode[] = [];
    if (choices.includes(error.keyword) && Array.isArray(error.schema)) {
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
export function explainAlternatives({ error, inner }: ErrorNode, root: JsonSchema): Explained {
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
    const allowed = describeBriefly({ enum: tag.values.flat() });
    return {
      of: tag.name,
      problem:
        given === undefined
          ? `is required: ${allowed}`
          : `must be ${allowed}, but is ${describeValue(given)}`,
    };
  }
  if (ofType.length === 1) return { nodes: errorsOf(ofType[0]) };
  const likely = ofType.map(errorsOf).filter((nodes) => nodes.length > 0 && nodes.every(isUnknownName));
  const [nearest] = likely.sort((one, other) => one.length - other.length);
  return nearest ? { nodes: nearest } : { problem: `must be ${forms}, but fits none of these` };
}

function isUnknownName({ error }: ErrorNode): boolean {
  return error.keyword === 'additionalProperties';
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

/** Every schema that judges a part of what `branch` judges, behind references too: errors name the schema that they are of. */
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
