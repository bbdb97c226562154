import fc from 'fast-check';
import type { DeclaredHelper, FileField } from '../../../schemas/declared-helper.js';
import {
  asSchema,
  followReference,
  isObject,
  type JsonSchema,
  typesOf,
} from '../../../schemas/json-schema.js';
import { askKeywords } from '../../../schemas/keywords/keywords.js';
import { onlyWithOf } from '../../../schemas/keywords/only-with.js';
import { uploadsOf } from '../../../schemas/parameters/parameters.js';

/** One generated call. */
export interface GeneratedCall {
  input: Record<string, unknown>;
  /** File fields that bring a file. */
  files: string[];
}

/** Values that a measure, a colour or a number is mistaken for. */
const slips = ['auto', '5%', '100.5%', '20px', -1, 1.5];

/** Calls of a helper: most fit its schema, some have one mistake, some are dry runs. */
export function callsOf({ input: schema, examples, files }: DeclaredHelper): fc.Arbitrary<GeneratedCall> {
  const right = valuesOf(schema).map((value) => ({ ...asSchema(value) }));
  const known = examples.map(({ input }) => ({ ...input }));
  const base =
    known.length > 0 ? fc.oneof({ weight: 4, arbitrary: right }, fc.constantFrom(...known)) : right;
  const names = [...Object.keys(asSchema(schema.properties)), 'unknown-name'];
  const slip = fc.oneof(
    { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 1, arbitrary: fc.constantFrom(...slips) },
  );
  const wrong = fc
    .tuple(base, fc.constantFrom(...names), fc.option(slip, { nil: undefined }))
    // What is undefined is left out.
    .map(([input, name, value]) => ({ ...input, [name]: value }));
  const dryRuns = fc.oneof(base, wrong).map((input) => ({ ...input, dryrun: true }));
  const input = fc.oneof(
    { weight: 7, arbitrary: base },
    { weight: 2, arbitrary: wrong },
    { weight: 1, arbitrary: dryRuns },
    ...idleIn(schema, base).map((arbitrary) => ({ weight: 1, arbitrary })),
  );
  const others = files.filter(({ required, insteadOf }) => !required && insteadOf === undefined);
  return fc
    .record({ input, more: fc.subarray(others.map(({ field }) => field)) }, { noNullPrototype: true })
    .map(({ input: each, more }) => {
      const uploads = [...new Set([...uploadsOf(files, each), ...more])].filter((field) => !(field in each));
      return { input: fitting(each, files, uploads), files: uploads };
    });
}

/** The input without what means nothing beside the files that come, or without those that do not. */
function fitting(
  input: object,
  files: readonly FileField[],
  uploads: readonly string[],
): Record<string, unknown> {
  const idle = files.flatMap(({ field, parameter, notWith = [], options = [] }) =>
    uploads.includes(field) || parameter in input ? notWith : options,
  );
  return Object.fromEntries(Object.entries(input).filter(([name]) => !idle.includes(name)));
}

/** Where parameters go with others alone: right but for one of them, which may make no sense there. */
function idleIn(
  schema: JsonSchema,
  base: fc.Arbitrary<Record<string, unknown>>,
): fc.Arbitrary<Record<string, unknown>>[] {
  const properties = asSchema(schema.properties);
  return [...onlyWithOf(schema).keys()].map((name) =>
    fc
      .tuple(base, valuesOf(asSchema(properties[name]), schema))
      .map(([input, value]) => ({ ...input, [name]: value })),
  );
}

/** Objects inside objects at most: a schema may hold itself. */
const deepest = 5;
/** Of a long text or list, what is made mostly; bounds are tried all the same where they are near. */
const longText = 300;
const longList = 12;
/** Texts that slips are made of. */
const nasty = [
  ...['', ' ', '0', 'null', '__proto__', '<b>&amp;"', "'; --", 'ñ漢字', '👩‍👩‍👧'],
  ...['a\nb\r\n\tc', '\u202e\u0000', '../../x', 'ß'.repeat(50)],
];

/** Values that a schema describes. `not`, `if` and `contains` are ignored, so some values may not fit. */
export function valuesOf(described: JsonSchema, root = described, depth = 0): fc.Arbitrary<unknown> {
  const schema = followReference(described, root);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const merged = (sum: JsonSchema, each: unknown) => mergeSchemas(sum, followReference(asSchema(each), root));
  for (const keyword of ['oneOf', 'anyOf'] as const) {
    const { [keyword]: branches, ...rest } = schema;
    if (Array.isArray(branches) && branches.length > 0) {
      return fc.oneof(...branches.map((each) => valuesOf(merged(rest, each), root, depth)));
    }
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema;
    return valuesOf(allOf.reduce(merged, rest), root, depth);
  }
  const types = typesOf(schema);
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  const values = fc.oneof(...types.map((type) => ofType(type, schema, root, depth)));
  return 'default' in schema
    ? fc.oneof({ weight: 9, arbitrary: values }, fc.constant(schema.default))
    : values;
}

function ofType(type: string, schema: JsonSchema, root: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const samples = askKeywords(schema, (keyword, setting) => keyword.samples?.(setting, type, schema, fc));
  if (samples) return samples;
  switch (type) {
    case 'string':
      return text(schema);
    case 'integer':
      return integer(schema);
    case 'number':
      return number(schema);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return list(schema, root, depth);
    case 'object':
      return object(schema, root, depth);
    default:
      return fc.constant(null);
  }
}

function text(schema: JsonSchema): fc.Arbitrary<unknown> {
  const min = bound(schema.minLength) ?? 0;
  const max = Math.max(min, bound(schema.maxLength) ?? longText);
  const fits = (value: string) => [...value].length >= min && [...value].length <= max;
  const pattern = patternOf(schema.pattern);
  if (pattern) return fc.stringMatching(pattern).map((value) => (fits(value) ? value : value.slice(0, max)));
  const unit = schema.drawable === true ? ('grapheme-ascii' as const) : ('binary' as const);
  const plain = (most: number) =>
    fc.string({ unit: 'grapheme-ascii', minLength: min, maxLength: Math.min(max, Math.max(min, most)) });
  const wild = fc.string({ unit, minLength: min, maxLength: Math.min(max, Math.max(min, longText)) });
  const known = nasty.filter(fits);
  // Its lengths are often the greatest, and shrink by halves.
  const long = fc
    .integer({ min, max: Math.max(min, Math.min(max, 10_000)) })
    .map((length) => 'x'.repeat(length));
  const all = [plain(20), wild, long];
  return known.length > 0 && schema.drawable !== true
    ? fc.oneof(...all, fc.constantFrom(...known))
    : fc.oneof(...all);
}

/** Only what the generator can read; any other pattern is met by chance or not at all. */
function patternOf(pattern: unknown): RegExp | undefined {
  if (typeof pattern !== 'string') return undefined;
  try {
    const expression = new RegExp(pattern, 'u');
    fc.stringMatching(expression);
    return expression;
  } catch {
    return undefined;
  }
}

function integer(schema: JsonSchema): fc.Arbitrary<number> {
  const { min, max } = rangeOf(schema, 1);
  const step = bound(schema.multipleOf);
  if (step === undefined || step <= 0)
    return fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) });
  const first = Math.ceil(min / step);
  return fc
    .integer({ min: first, max: Math.max(first, Math.floor(max / step)) })
    .map((count) => count * step);
}

function number(schema: JsonSchema): fc.Arbitrary<number> {
  if (bound(schema.multipleOf) !== undefined) return integer(schema);
  const { min, max } = rangeOf(schema, Number.EPSILON);
  const whole = fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) });
  const double = fc.double({ min, max: Math.max(min, max), noNaN: true, noDefaultInfinity: true });
  return fc.oneof(double, whole).map((value) => (Object.is(value, -0) ? 0 : value));
}

function rangeOf(schema: JsonSchema, step: number): { min: number; max: number } {
  const { exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const min = bound(schema.minimum) ?? (typeof above === 'number' ? above + step : -1_000_000);
  const most = typeof below === 'number' ? below - step : Math.max(min, 1_000_000);
  return { min, max: bound(schema.maximum) ?? most };
}

function list(schema: JsonSchema, root: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const { items } = schema;
  if (Array.isArray(items))
    return fc.tuple(...items.map((each) => valuesOf(asSchema(each), root, depth + 1)));
  const minLength = bound(schema.minItems) ?? 0;
  const most = depth >= deepest ? minLength : Math.max(minLength, longList);
  const maxLength = Math.max(minLength, Math.min(bound(schema.maxItems) ?? most, most));
  const item = valuesOf(asSchema(items), root, depth + 1);
  return schema.uniqueItems === true
    ? fc.uniqueArray(item, { minLength, maxLength, selector: (value) => JSON.stringify(value) })
    : fc.array(item, { minLength, maxLength });
}

function object(schema: JsonSchema, root: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const all = Object.entries(asSchema(schema.properties)).filter(([, each]) => each !== false);
  const names = depth >= deepest ? all.filter(([name]) => required.includes(name)) : all;
  const model = Object.fromEntries(
    names.map(([name, each]) => [name, valuesOf(asSchema(each), root, depth + 1)]),
  );
  const requiredKeys = Object.keys(model).filter((name) => required.includes(name));
  const values = fc.record(model, { requiredKeys, noNullPrototype: true });
  return schema.onlyWith === undefined ? values : values.map((value) => withoutIdle(value, schema));
}

function mergeSchemas(one: JsonSchema, two: JsonSchema): JsonSchema {
  const required = [one.required, two.required].flatMap((each) => (Array.isArray(each) ? each : []));
  const properties = { ...asSchema(one.properties), ...asSchema(two.properties) };
  return {
    ...one,
    ...two,
    ...(required.length > 0 ? { required } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
  };
}

function bound(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The values without those that make no sense beside the others: what `onlyWith` refuses. */
function withoutIdle(values: Record<string, unknown>, schema: JsonSchema): Record<string, unknown> {
  const properties = asSchema(schema.properties);
  const rules = onlyWithOf(schema);
  const isIdle = (name: string) =>
    rules.get(name)?.some(({ parameter, values: wanted }) => {
      const property = asSchema(properties[parameter]);
      const given = Object.hasOwn(values, parameter) ? values[parameter] : property.default;
      return !wanted.includes(normalForm(given, property));
    });
  return Object.fromEntries(Object.entries(values).filter(([name]) => !isIdle(name)));
}

/** A choice by its name; other values have a single spelling here. */
function normalForm(value: unknown, { choice }: JsonSchema): unknown {
  if (!isObject(choice) || typeof value !== 'string') return value;
  const spelt = value.toLowerCase();
  const found = Object.entries(choice).find(([name, aliases]) =>
    [name, ...(aliases as string[])].some((each) => each.toLowerCase() === spelt),
  );
  return found?.[0];
}
