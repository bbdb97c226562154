import { describeBriefly } from '../describe.js';
import { mismatch } from '../explain-errors.js';
import { type FieldProblem, fieldName, mostProblems } from '../field-problem.js';
import { looksLikeJson, mostLevels, scanJson } from '../input/parse.js';
import {
  asSchema,
  definitionAt,
  followReference,
  isObject,
  type JsonSchema,
  localDefinition,
  typesOf,
} from '../json-schema.js';

/** One form that a schema allows a value to have. */
interface ValueForm {
  type: string;
  /** Of a list: the schema of its items and where it stands, where a list can be written with commas. */
  item?: { schema: JsonSchema; pointer: string };
}

const deepest = 10;

/**
 * Every form that a schema allows, through its alternatives and references; empty where it has no types. `around` are the schemas
 * of the items around this one: a list may contain lists like itself.
 */
export function formsOf(
  schema: JsonSchema,
  root: JsonSchema,
  pointer = '',
  around: readonly JsonSchema[] = [],
): ValueForm[] {
  const forms: ValueForm[] = [];
  gather(schema, pointer, 0);
  return forms;

  function gather(part: JsonSchema, place: string, depth: number): void {
    if (depth > deepest) return;
    const { anyOf: _, oneOf: __, allOf: ___, ...plain } = part;
    for (const type of typesOf(plain)) forms.push(type === 'array' ? listForm(part, place) : { type });
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
      const branches = part[keyword];
      if (!Array.isArray(branches)) continue;
      branches.forEach((branch, at) => void gather(asSchema(branch), `${place}/${keyword}/${at}`, depth + 1));
    }
    const to = localDefinition(part);
    if (to !== undefined) gather(definitionAt(root, to), String(part.$ref).slice(1), depth + 1);
  }

  function listForm(part: JsonSchema, place: string): ValueForm {
    const { items = {} } = part;
    const item = isObject(items) ? followReference(items, root) : undefined;
    if (!isObject(items) || item === undefined || around.includes(item)) return { type: 'array' };
    const inner = formsOf(item, root, '', [...around, item]).map(({ type }) => type);
    if (inner.includes('object') || inner.includes('array')) return { type: 'array' };
    return { type: 'array', item: { schema: items, pointer: `${place}/items` } };
  }
}

/** Reads the text of a query or form value; text that does not fit stays a string, for validation to name. */
type Coerce = (text: string) => unknown;

/** Whether a value fits the schema at a pointer of the whole, for a text with several readings. */
export type FitsAt = (schema: JsonSchema, pointer: string) => (value: unknown) => boolean;

const decimal = /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;
const beginsAsJson = /^\s*[[{]/;
const longestNumber = 1000;
const booleans = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }));

/**
 * The reader for one property by the types that its schema declares, wherever it does: itself, in `const` and `enum`, in
 * alternatives, behind references. A text can be, in this order of preference: a list or an object as JSON, where it begins
 * as one; a finite number in decimal notation; a boolean as `true 1 false 0`; itself; a list with commas, where its items are
 * no lists or objects. The first that fits the schema counts, else the first of all: so a text becomes what the same value sent
 * as JSON would be, or is refused. `pointer` is the schema's place in `root`, for `fitsAt`.
 */
export function createCoerce(
  schema: JsonSchema,
  root: JsonSchema,
  fitsAt: FitsAt = () => () => true,
  pointer = '',
): Coerce {
  const forms = formsOf(schema, root, pointer);
  const types = new Set(forms.map(({ type }) => type));
  const takesText = types.has('string') || types.size === 0;
  if (takesText && types.size < 2) return (text) => text;

  const takesNumber = types.has('integer') || types.has('number');
  const takesBoolean = types.has('boolean');
  const lists = forms.filter(({ item }) => item !== undefined).map((form) => listReader(form, root, fitsAt));
  const structured = types.has('object') || types.has('array') ? 1 : 0;
  const readingCount =
    [takesText, takesNumber, takesBoolean].filter(Boolean).length + Math.max(structured, lists.length);
  const fits = readingCount > 1 ? fitsAt(schema, pointer) : undefined;

  function readings(text: string): unknown[] {
    const json = structured > 0 && beginsAsJson.test(text) ? readJson(text) : undefined;
    const isJson = types.has(Array.isArray(json) ? 'array' : isObject(json) ? 'object' : '');
    return [
      isJson ? json : undefined,
      takesNumber ? readNumber(text) : undefined,
      takesBoolean ? booleans.get(text) : undefined,
      // The wrong kind of JSON then gets the same error as sent as JSON.
      takesText ? text : isJson ? undefined : json,
      ...(json === undefined && !looksLikeJson(text) ? lists.map((read) => read(text)) : []),
    ].filter((value) => value !== undefined);
  }

  return function coerce(text) {
    const [first = text, ...others] = readings(text);
    if (others.length === 0 || fits === undefined || fits(first)) return first;
    return others.find(fits) ?? first;
  };
}

function readNumber(text: string): number | undefined {
  if (text.length > longestNumber || !decimal.test(text)) return undefined;
  const number = Number(text);
  // Adding 0 makes the -0 of "-0" a plain one.
  return Number.isFinite(number) ? number + 0 : undefined;
}

function listReader({ item }: ValueForm, root: JsonSchema, fitsAt: FitsAt): Coerce {
  const { schema = {}, pointer = '' } = item ?? {};
  const coerceItem = createCoerce(schema, root, fitsAt, pointer);
  return (text) => (text === '' ? [] : text.split(',').map((part) => coerceItem(part.trim())));
}

function readJson(text: string): unknown {
  // What is refused here stays text, which validation reports.
  if ('problem' in scanJson(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mostElements = 10_000;

/** A copy of a JSON value, or why it is refused. */
export type Copied = { value: unknown } | { problem: string };

interface NamedRules {
  /** The schema of each known name. */
  schemas: ReadonlyMap<string, JsonSchema>;
  /** A copy of a value with a known name, or why it is refused before its schema validates it. */
  copy(schema: JsonSchema, value: unknown): Copied;
  /** What is wrong with an unknown name. */
  unknown(name: string): string;
  /** Validates the copies; writes defaults and normal forms into them. */
  validate(values: Record<string, unknown>): FieldProblem[];
}

/**
 * Checks values by name: a helper's parameters, or the fields of a form or body. What is undefined counts as left out. `values` is a
 * fresh object with its defaults; of known names there is one problem each.
 */
export function checkNamed(given: object, { schemas, copy, unknown, validate }: NamedRules) {
  const values: Record<string, unknown> = {};
  const refused: FieldProblem[] = [];
  const others: FieldProblem[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const schema = schemas.get(name);
    if (schema === undefined) {
      // The search for the name that was meant costs more than reading one, and problems past these are only counted.
      const problem = others.length < mostProblems ? unknown(name) : 'is not known';
      others.push({ field: fieldName(name), problem });
      continue;
    }
    const copied = copy(schema, value);
    if ('value' in copied) values[name] = copied.value;
    else refused.push({ field: name, problem: copied.problem });
  }
  const named = new Set(refused.map(({ field }) => field));
  const invalid = validate(values).filter(({ field }) => !named.has(field));
  return { values, known: [...refused, ...invalid], unknown: others };
}

/**
 * A copy of a parameter's value, or why it is refused before the schema validates it: null, and what is so long that validation
 * would cost more than it is worth.
 */
export function copyParameter(declared: JsonSchema, value: unknown, root: JsonSchema): Copied {
  const schema = declared.$ref === undefined ? declared : followReference(declared, root);
  if (value === null) {
    // Whatever the schema says: no query could say the same.
    const acceptsNull = formsOf(schema, root).some(({ type }) => type === 'null');
    return { problem: acceptsNull ? 'must not be null; leave it out instead' : mismatch(schema, null, root) };
  }
  const { maxLength, maxItems } = schema;
  const form = () => describeBriefly(schema, root);
  // A plugin's `pattern` must not get to see what its `maxLength` refuses: ajv tries them all.
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > 2 * maxLength) {
    return { problem: `must be ${form()}, but has more than ${2 * maxLength} characters` };
  }
  if (Array.isArray(value) && typeof maxItems === 'number' && value.length > maxItems) {
    // Nor its `uniqueItems`, which compares each with each.
    return { problem: `must be ${form()}, but has ${value.length}` };
  }
  return copyJson(value, typeof maxItems === 'number' ? maxItems : 0);
}

/**
 * A deep copy of a JSON value: defaults and normal forms are written into it. Refuses what costs more to validate than it is worth:
 * more than 32 levels, more than 10,000 or `most` elements in all, which would be as many errors, and a key `__proto__`.
 */
export function copyJson(value: unknown, most = 0): Copied {
  const limit = Math.max(most, mostElements);
  let left = limit;
  let problem: string | undefined;

  function copy(from: unknown, depth: number): unknown {
    if (typeof from !== 'object' || from === null || problem !== undefined) return from;
    const keys = Object.keys(from);
    left -= Array.isArray(from) ? from.length : keys.length;
    if (depth > mostLevels) problem = `is nested more than ${mostLevels} levels deep`;
    else if (left < 0) problem = `has more than ${limit} elements`;
    else if (Array.isArray(from)) return from.map((item) => copy(item, depth + 1));
    else if (keys.includes('__proto__')) problem = 'has a key "__proto__", which no helper takes';
    else return Object.fromEntries(Object.entries(from).map(([key, item]) => [key, copy(item, depth + 1)]));
    return undefined;
  }

  const result = copy(value, 1);
  return problem === undefined ? { value: result } : { problem };
}
