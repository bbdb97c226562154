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
export type ParameterEntry = Partial<Record<'minimum' | 'maximum' | 'maxLength', number>> &
  Partial<Record<'description' | 'pattern', string>> &
  Partial<Record<'examples' | 'enum', unknown[]>> & { default?: unknown };

/** Gets what is wrong with a keyword of an entry. */
type Refuse = (keyword: keyof ParameterEntry, problem: string) => void;

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

  /** The schema of a parameter, as `entry` narrows it, and whether its default is that of its places. */
  function derive(places: readonly ValuePlace[], entry: ParameterEntry, refuse: Refuse) {
    const found = places.map((place) => schemaAt(place) ?? {});
    const [first = {}] = found;
    const narrowed = places.map(({ helper }, at) =>
      carry(narrow(plain(found[at] as JsonSchema, helper.declaration.input), entry, refuse), helper),
    );
    const schema = withValues(withPattern(together(narrowed), entry, refuse), entry, refuse);
    const inherits =
      found.every((each) => isDeepStrictEqual(each.default, first.default)) && !('default' in entry);
    const {
      default: preset = inherits ? first.default : undefined,
      description = first.description,
      examples,
    } = entry;
    if (Object.keys(entry).length > 0) {
      const check = createCheck(schema);
      const wrong = (examples ?? []).map((example) => check(example).problem).find(Boolean);
      if (wrong) refuse('examples', `has one that ${wrong}`);
      const problem = preset === undefined ? undefined : check(preset).problem;
      if (problem) refuse('default', inherits ? `is required: the step's own ${problem}` : problem);
    }
    const said = Object.entries({ description, default: preset, examples }).filter(
      ([, each]) => each !== undefined,
    );
    return { schema: { ...schema, ...Object.fromEntries(said) } as JsonSchema, inherits };
  }

  /** Some values alone: of a choice in any spelling, else as they stand there. */
  function withValues(schema: JsonSchema, { enum: values }: ParameterEntry, refuse: Refuse): JsonSchema {
    if (values === undefined) return schema;
    const checked = values.map(createCheck(schema));
    const wrong = checked.find(({ problem }) => problem !== undefined);
    if (wrong) refuse('enum', `has a value that ${wrong.problem}`);
    if (wrong || !isObject(schema.choice)) return wrong ? schema : withMore(schema, { enum: values });
    const chosen = Object.entries(schema.choice).filter(([name]) =>
      checked.some(({ value }) => value === name),
    );
    return { ...schema, choice: Object.fromEntries(chosen) };
  }

  return { derive, definitions };
}

function withPattern(schema: JsonSchema, { pattern }: ParameterEntry, refuse: Refuse): JsonSchema {
  if (pattern === undefined) return schema;
  const problem = patternProblem(pattern, schema.maxLength);
  if (problem === undefined) return withMore(schema, { pattern });
  refuse('pattern', problem);
  return schema;
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
function narrow(schema: JsonSchema, entry: ParameterEntry, refuse: Refuse): JsonSchema {
  const { measure, fraction, maxLength = Number.MAX_VALUE } = schema;
  const types = typesOf(schema);
  const [least, most] = boundsOf(schema);
  const limits = { minimum: least, maximum: most, maxLength: maxLength as number };
  const given = Object.entries(limits).flatMap(([name, limit]): [keyof typeof limits, number, number][] => {
    const keyword = name as keyof typeof limits;
    return entry[keyword] === undefined ? [] : [[keyword, entry[keyword], limit]];
  });
  const bounds: JsonSchema = {};
  for (const [keyword, bound, limit] of given) {
    const isText = keyword === 'maxLength';
    const isWider = keyword === 'minimum' ? bound < limit : bound > limit;
    const among = keyword === 'minimum' ? 'least' : 'most';
    if (!types.some((type) => (isText ? type === 'string' : type === 'number' || type === 'integer'))) {
      refuse(keyword, `is for ${isText ? 'texts' : 'numbers'} alone`);
    } else if (isWider) refuse(keyword, `must be at ${among} ${limit}, as for the step, but is ${bound}`);
    else if (measure && !Number.isInteger(bound)) refuse(keyword, 'must be a whole number of pixels');
    else bounds[keyword] = bound;
  }
  const [from, to] = [entry.minimum ?? least, entry.maximum ?? most];
  if (from > to) refuse(entry.minimum === undefined ? 'maximum' : 'minimum', `leaves no number up to ${to}`);
  if (Object.keys(bounds).length < given.length || from > to) return schema;
  const { minimum: _, maximum: __, ...ofTexts } = bounds;
  const narrowed = given.length === 0 ? schema : { ...schema, type: schema.type ?? types };
  if (entry.minimum === undefined && entry.maximum === undefined) return { ...narrowed, ...ofTexts };
  if (fraction) return { ...narrowed, ...ofTexts, minimum: from, fraction: { maximum: to } };
  if (!isObject(measure)) return { ...narrowed, ...bounds };
  // What per cent come to is known only when the picture is there.
  const { percent: ___, ...pixels } = measure;
  return { ...narrowed, ...ofTexts, measure: { ...pixels, minimum: from, maximum: to } };
}

function boundsOf(schema: JsonSchema): [number, number] {
  const { measure, fraction, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (fraction !== undefined) return fractionBounds(fraction as true, schema);
  if (isObject(measure)) return [measure.minimum as number, measure.maximum as number];
  const isNumber = (bound: unknown) => typeof bound === 'number';
  return [
    Math.max(...[minimum, exclusiveMinimum].filter(isNumber), -Number.MAX_VALUE),
    Math.min(...[maximum, exclusiveMaximum].filter(isNumber), Number.MAX_VALUE),
  ];
}
