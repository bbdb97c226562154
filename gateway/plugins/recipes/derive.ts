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
import { fractionBounds } from '../../../schemas/keywords/fraction.js';
import { urlParameter } from '../../../schemas/parameters/compile-schema.js';
import { callParameters, compileParameters } from '../../../schemas/parameters/parameters.js';
import { referenceTo } from '../../../schemas/parameters/rewrite.js';
import { pointerTarget } from '../../../schemas/parameters/schema-faults.js';
import type { Helper } from '../registry.js';
import { patternProblem } from './pattern.js';

/** What a recipe says of one of its parameters. */
export interface ParameterEntry {
  default?: unknown;
  description?: string;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  enum?: unknown[];
  pattern?: string;
}

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

  /** The value in its normal form, or why the schema refuses it. */
  function normalise(schema: JsonSchema, value: unknown): { value: unknown } | { problem: string } {
    const { default: _, ...others } = schema;
    const input = { type: 'object', properties: { value: others }, definitions };
    const checker = compileParameters(vocabulary, { input }, { checked: true });
    const checked = checker.check({ value }, { dryrun: true, anyEngine: true });
    const [wrong] = checked.problems;
    return wrong ? { problem: wrong.problem } : { value: checked.input.value };
  }

  /**
   * The schema of a parameter, as `entry` narrows it; `refuse` gets what is wrong with a keyword of the entry. With it the default that
   * it has from its places: sent to a helper, it says no more than nothing does.
   */
  function derive(
    places: readonly ValuePlace[],
    entry: ParameterEntry,
    refuse: (keyword: keyof ParameterEntry, problem: string) => void,
  ): { schema: JsonSchema; inherited?: unknown } {
    const found = places.map((place) => ({ ...schemaAt(place), helper: place.helper }));
    const [first = {}] = found as JsonSchema[];
    const narrowed = found.map(({ helper, ...schema }) =>
      carry(narrow(plain(schema, helper.declaration.input), entry, refuse), helper),
    );
    let schema = together(narrowed);
    if (entry.pattern !== undefined) {
      const problem = patternProblem(entry.pattern, schema.maxLength);
      if (problem !== undefined) {
        refuse('pattern', problem);
        return { schema };
      }
      schema = withMore(schema, { pattern: entry.pattern });
    }
    if (entry.enum) schema = withValues(schema, entry.enum, refuse);
    const inherited = found.every((each) => isDeepStrictEqual(asSchema(each).default, first.default))
      ? first.default
      : undefined;
    const { default: preset = inherited, description = first.description, examples } = entry;
    for (const example of examples ?? []) {
      const fits = normalise(schema, example);
      if ('problem' in fits) refuse('examples', `has one that ${fits.problem}`);
    }
    const fits = preset === undefined ? undefined : normalise(schema, preset);
    if (fits && 'problem' in fits) {
      refuse('default', (entry.default === undefined ? "is required: the step's own " : '') + fits.problem);
    }
    return {
      schema: {
        ...schema,
        ...(description === undefined ? {} : { description }),
        ...(preset === undefined ? {} : { default: preset }),
        ...(examples ? { examples } : {}),
      },
      ...(fits && 'value' in fits && entry.default === undefined ? { inherited: fits.value } : {}),
    };
  }

  /** One of these values alone: of a choice in any spelling, else as they stand there. */
  function withValues(
    schema: JsonSchema,
    values: readonly unknown[],
    refuse: (keyword: 'enum', problem: string) => void,
  ): JsonSchema {
    const fitting = values.map((value) => normalise(schema, value));
    const wrong = fitting.find((fits) => 'problem' in fits);
    if (wrong && 'problem' in wrong) refuse('enum', `has a value that ${wrong.problem}`);
    if (wrong || !isObject(schema.choice)) return wrong ? schema : withMore(schema, { enum: values });
    const isChosen = (name: string) => fitting.some((fits) => 'value' in fits && fits.value === name);
    const chosen = Object.entries(schema.choice).filter(([name]) => isChosen(name));
    return { ...schema, choice: Object.fromEntries(chosen) };
  }

  return { derive, definitions };
}

const words = ['title', 'description', 'default', 'examples', '$comment'];

/** A schema without words and default, and without the reference that is all of it. */
function plain(schema: JsonSchema, root: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(followReference(schema, root)).filter(([keyword]) => !words.includes(keyword)),
  );
}

/** What fits all of these schemas. */
function together(schemas: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = schemas.filter(
    (schema, at) => schemas.findIndex((each) => isDeepStrictEqual(each, schema)) === at,
  );
  if (others.length === 0) return first;
  const all = [first, ...others];
  const lengths = all.flatMap(({ maxLength }) => (typeof maxLength === 'number' ? [maxLength] : []));
  const areTexts = lengths.length > 0 && all.every(({ type }) => type === 'string');
  // At the top, a text that is too long is refused before a pattern sees it.
  return { ...(areTexts ? { type: 'string', maxLength: Math.min(...lengths) } : {}), allOf: all };
}

/** A schema that demands more than it does. */
function withMore(schema: JsonSchema, more: JsonSchema): JsonSchema {
  if (schema.allOf === undefined && Object.keys(more).every((keyword) => !(keyword in schema))) {
    return { ...schema, ...more };
  }
  const { type, allOf } = schema;
  const others = Array.isArray(allOf) ? allOf : [];
  return { ...schema, allOf: [...others, { ...(type === undefined ? {} : { type }), ...more }] };
}

/** The schema of one place as a recipe narrows it. */
function narrow(
  schema: JsonSchema,
  { minimum, maximum, maxLength, pattern }: ParameterEntry,
  refuse: (keyword: keyof ParameterEntry, problem: string) => void,
): JsonSchema {
  const types = typesOf(schema);
  let narrowed = schema;
  const bounds = Object.entries({ minimum, maximum }).filter(([, bound]) => bound !== undefined);
  if (bounds.length > 0) {
    const [least, most] = boundsOf(schema);
    const [from, to] = [minimum ?? least, maximum ?? most];
    const refuseBounds = (problem: string) => {
      for (const [keyword] of bounds) refuse(keyword as 'minimum' | 'maximum', problem);
    };
    if (!types.includes('integer') && !types.includes('number')) refuseBounds('is for numbers alone');
    else if (isObject(schema.measure) && !bounds.every(([, bound]) => Number.isInteger(bound))) {
      refuseBounds('must be a whole number of pixels');
    } else if (from < least) refuse('minimum', `must be at least ${least}, as for the step, but is ${from}`);
    else if (to > most) refuse('maximum', `must be at most ${most}, as for the step, but is ${to}`);
    else if (from > to) refuseBounds(`leaves no number: ${from} is more than ${to}`);
    else narrowed = between(schema, from, to, Object.fromEntries(bounds));
  }
  for (const [keyword, value] of Object.entries({ maxLength, pattern })) {
    if (value !== undefined && !types.includes('string')) {
      refuse(keyword as keyof ParameterEntry, 'is for texts alone');
    }
  }
  if (maxLength === undefined || !types.includes('string')) return narrowed;
  if (typeof schema.maxLength === 'number' && maxLength > schema.maxLength) {
    refuse('maxLength', `must be at most ${schema.maxLength}, as for the step, but is ${maxLength}`);
  }
  return { ...narrowed, type: schema.type ?? types, maxLength };
}

function boundsOf(schema: JsonSchema): [number, number] {
  const { measure, fraction, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (fraction !== undefined) return fractionBounds(fraction as true, schema);
  if (isObject(measure)) return [measure.minimum as number, measure.maximum as number];
  const least = [minimum, exclusiveMinimum].filter((bound) => typeof bound === 'number');
  const most = [maximum, exclusiveMaximum].filter((bound) => typeof bound === 'number');
  return [Math.max(...least, -Number.MAX_VALUE), Math.min(...most, Number.MAX_VALUE)];
}

function between(schema: JsonSchema, from: number, to: number, bounds: JsonSchema): JsonSchema {
  const { measure, fraction } = schema;
  if (fraction !== undefined) return { ...schema, minimum: from, fraction: { maximum: to } };
  if (!isObject(measure)) return { ...schema, type: schema.type ?? typesOf(schema), ...bounds };
  // What per cent come to is known only when the picture is there.
  const { percent: _, ...pixels } = measure;
  return { ...schema, measure: { ...pixels, ...bounds } };
}
