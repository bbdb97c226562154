import { isDeepStrictEqual } from 'node:util';
import type { Ajv } from 'ajv';
import { sourceField } from '../../../schemas/declared-helper.js';
import {
  asSchema,
  followReference,
  isObject,
  type JsonSchema,
  mapSubschemas,
  typesOf,
} from '../../../schemas/json-schema.js';
import { withMore } from '../../../schemas/keywords/keyword.js';
import { urlParameter } from '../../../schemas/parameters/compile-schema.js';
import { callParameters, compileParameters } from '../../../schemas/parameters/parameters.js';
import { referenceTo } from '../../../schemas/parameters/rewrite.js';
import { pointerTarget } from '../../../schemas/parameters/schema-faults.js';
import type { Helper } from '../registry.js';
import { patternProblem } from './pattern.js';

/** What a recipe says of one of its parameters. */
export type ParameterEntry = Partial<Record<'minimum' | 'maximum' | 'maxLength', number>> &
  Partial<Record<'description' | 'pattern', string>> &
  Partial<Record<'examples' | 'enum', unknown[]>> & { default?: unknown };

/** Gets what is wrong with a keyword of an entry, if anything is. */
type Refuse = (keyword: keyof ParameterEntry, problem: string | undefined) => void;

/** The JSON Schema of an entry. */
export const entrySchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    default: {},
    description: { type: 'string', maxLength: 1000 },
    examples: { type: 'array', maxItems: 20 },
    minimum: { type: 'number' },
    maximum: { type: 'number' },
    maxLength: { type: 'integer', minimum: 0 },
    enum: { type: 'array', minItems: 1, maxItems: 100, uniqueItems: true },
    pattern: { type: 'string', minLength: 1, maxLength: 100 },
  },
};

/** A value in a step, by its helper's names: of its parameter and of what is inside. */
export interface ValuePlace {
  helper: Helper;
  keys: readonly string[];
}

/** What a helper's schema says of a place; undefined where it knows none. */
export function schemaAt({ helper, keys }: ValuePlace): JsonSchema | undefined {
  const [parameter = '', ...inner] = keys;
  const { input, files } = helper.declaration;
  const file = files.find((each) => each !== sourceField && each.parameter === parameter);
  if (file && inner.length === 0) {
    const what = `Public https address of a ${file.kind === 'image' ? 'picture' : 'file'}.`;
    return { ...urlParameter, description: [file.description, what].filter(Boolean).join(' ') };
  }
  const properties = asSchema(input.properties);
  if (callParameters.includes(parameter) || !Object.hasOwn(properties, parameter)) return undefined;
  let found = [asSchema(properties[parameter])];
  for (const key of inner) found = found.flatMap((schema) => inside(schema, key, input));
  return found.length > 1 ? { anyOf: found } : found[0];
}

/** The schemas that any form of a value has for what is inside of it. */
function inside(schema: JsonSchema, key: string, root: JsonSchema, depth = 0): JsonSchema[] {
  if (depth > 10) return [];
  const { properties, additionalProperties, items, allOf, anyOf, oneOf } = followReference(schema, root);
  const named = asSchema(properties);
  const listed = Array.isArray(items) ? items[Number(key)] : items;
  const found = [Object.hasOwn(named, key) ? named[key] : additionalProperties, listed].filter(isObject);
  const branches = [allOf, anyOf, oneOf].filter(Array.isArray).flat();
  return [...found, ...branches.flatMap((branch) => inside(asSchema(branch), key, root, depth + 1))];
}

/** The parameters of a recipe, by the schemas of the places where they stand. */
export function createDerivation(vocabulary: Ajv) {
  const definitions: Record<string, JsonSchema> = {};

  /** A helper's schema as a part of the recipe's, with what its references lead to. */
  function carry(schema: JsonSchema, helper: Helper): JsonSchema {
    const { $id: _, $ref, ...copy } = mapSubschemas(schema, (found) => carry(found.schema, helper));
    if (typeof $ref !== 'string') return copy;
    const target = pointerTarget($ref, helper.declaration.input);
    // The step itself is validated by what cannot be followed here.
    if (!isObject(target)) return copy;
    const name = helper.id + $ref;
    if (!Object.hasOwn(definitions, name)) {
      definitions[name] = {};
      definitions[name] = carry(target, helper);
    }
    return { ...copy, $ref: referenceTo({ keyword: 'definitions', name }) };
  }

  /** Says how a value reads in its normal form, and why the schema refuses it. */
  function createCheck({ default: _, ...schema }: JsonSchema) {
    const input = { type: 'object', properties: { value: schema }, definitions };
    const checker = compileParameters(vocabulary, { input }, { checked: true });
    return (given: unknown) => {
      const { input, problems } = checker.check({ value: given }, { dryrun: true, anyEngine: true });
      return { value: input.value, problem: problems[0]?.problem };
    };
  }

  /** The schema of a parameter, as `entry` narrows it. */
  function derive(places: readonly ValuePlace[], entry: ParameterEntry, refuse: Refuse): JsonSchema {
    const found = places.map((place) => schemaAt(place) ?? {});
    const [first = {}] = found;
    const plain = places.map(({ helper }, at) =>
      carry(withoutWords(found[at] as JsonSchema, helper.declaration.input), helper),
    );
    const distinct = plain.filter(
      (schema, at) => plain.findIndex((each) => isDeepStrictEqual(each, schema)) === at,
    );
    const bounded = distinct.map((schema) => withBounds(schema, entry, refuse));
    const together = bounded.length === 1 ? (bounded[0] as JsonSchema) : { allOf: bounded };
    const schema = withValues(withTexts(together, distinct, entry, refuse), entry, refuse);
    const isCommon = found.every((each) => isDeepStrictEqual(each.default, first.default));
    const preset = 'default' in entry || !isCommon ? entry.default : first.default;
    const { description = first.description, examples } = entry;
    if (Object.keys(entry).length > 0) {
      const check = createCheck(schema);
      const wrong = examples?.map((example) => check(example).problem).find(Boolean);
      refuse('examples', wrong && `has one that ${wrong}`);
      const problem = preset === undefined ? undefined : check(preset).problem;
      refuse(
        'default',
        problem && !('default' in entry) ? `is required: the step's own ${problem}` : problem,
      );
    }
    const said = Object.entries({ description, default: preset, examples });
    return { ...schema, ...Object.fromEntries(said.filter(([, each]) => each !== undefined)) };
  }

  /** The schema of one place between two values that it allows. */
  function withBounds(schema: JsonSchema, entry: ParameterEntry, refuse: Refuse): JsonSchema {
    const types = typesOf(schema);
    const isNumber = types.includes('number') || types.includes('integer');
    const bounds: JsonSchema = {};
    for (const keyword of ['minimum', 'maximum'] as const) {
      if (entry[keyword] === undefined) continue;
      const { value, problem } = isNumber
        ? createCheck(schema)(entry[keyword])
        : { value: undefined, problem: 'is for numbers alone' };
      refuse(keyword, problem);
      if (problem === undefined) bounds[keyword] = value;
    }
    const { minimum = -Infinity, maximum = Infinity } = bounds as ParameterEntry;
    if (minimum > maximum) refuse('minimum', `must be at most maximum, which is ${maximum}`);
    if (Object.keys(bounds).length === 0 || minimum > maximum) return schema;
    const { measure, fraction } = schema;
    if (isObject(measure)) {
      // What per cent come to is known only when the picture is there.
      const { percent: _, ...pixels } = measure;
      return { ...schema, measure: { ...pixels, ...bounds } };
    }
    if (fraction === undefined || bounds.maximum === undefined) return { type: types, ...schema, ...bounds };
    const { maximum: most, ...least } = bounds;
    return { ...schema, ...least, fraction: { maximum: most } };
  }

  /** Some values alone: of a choice in any spelling, else as they stand there. */
  function withValues(schema: JsonSchema, { enum: values }: ParameterEntry, refuse: Refuse): JsonSchema {
    if (values === undefined) return schema;
    const checked = values.map(createCheck(schema));
    const wrong = checked.find(({ problem }) => problem !== undefined);
    refuse('enum', wrong && `has a value that ${wrong.problem}`);
    if (wrong || !isObject(schema.choice)) return wrong ? schema : { ...schema, enum: values };
    const names = checked.map(({ value }) => value);
    const chosen = Object.entries(schema.choice).filter(([name]) => names.includes(name));
    return { ...schema, choice: Object.fromEntries(chosen) };
  }

  return { derive, definitions };
}

/** Shorter texts, of some form. */
function withTexts(
  schema: JsonSchema,
  places: readonly JsonSchema[],
  { maxLength, pattern }: ParameterEntry,
  refuse: Refuse,
): JsonSchema {
  const longest = Math.min(...places.map(({ maxLength = Infinity }) => maxLength as number));
  const { type = 'string' } = schema;
  let narrowed = schema;
  if (maxLength !== undefined) {
    const isText = places.every((place) => typesOf(place).includes('string'));
    const isLonger = maxLength > longest;
    if (!isText || isLonger)
      refuse('maxLength', isText ? `must be at most ${longest}` : 'is for texts alone');
    else narrowed = { ...schema, type, maxLength };
  }
  if (pattern === undefined) return narrowed;
  const problem = patternProblem(pattern, narrowed.maxLength);
  refuse('pattern', problem);
  return problem === undefined ? withMore(narrowed, { pattern }) : narrowed;
}

const words = ['title', 'description', 'default', 'examples', '$comment'];

/** A schema without words and default, and without the reference that is all of it. */
function withoutWords(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const followed = Object.entries(followReference(schema, root));
  return Object.fromEntries(followed.filter(([keyword]) => !words.includes(keyword)));
}
