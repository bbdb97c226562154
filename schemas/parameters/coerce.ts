import { looksLikeJson, scanJson } from '../input/json.js';
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
const nested = ['anyOf', 'oneOf', 'allOf'];

/** Every form that a schema allows, through its alternatives and references; empty where it has no types. */
export function formsOf(schema: JsonSchema, root: JsonSchema, pointer: string): ValueForm[] {
  return formsInside(schema, root, pointer, []);
}

/** `around` are the schemas of the items around this one: a list may contain lists like itself. */
function formsInside(
  schema: JsonSchema,
  root: JsonSchema,
  pointer: string,
  around: readonly JsonSchema[],
): ValueForm[] {
  const forms: ValueForm[] = [];
  gather(schema, pointer, 0);
  return forms;

  function gather(part: JsonSchema, place: string, depth: number): void {
    if (depth > deepest) return;
    const { anyOf: _, oneOf: __, allOf: ___, ...plain } = part;
    for (const type of typesOf(plain)) forms.push(type === 'array' ? listForm(part, place) : { type });
    for (const keyword of nested) {
      const branches = part[keyword];
      if (!Array.isArray(branches)) continue;
      branches.forEach((branch, at) => void gather(asSchema(branch), `${place}/${keyword}/${at}`, depth + 1));
    }
    const to = localDefinition(part);
    if (to !== undefined) {
      gather(definitionAt(root, to), String(part.$ref).slice(1), depth + 1);
    }
  }

  function listForm(part: JsonSchema, place: string): ValueForm {
    const items = part.items === undefined ? {} : part.items;
    if (!isObject(items)) return { type: 'array' };
    const item = followReference(items, root);
    if (around.includes(item)) return { type: 'array' };
    const inner = formsInside(item, root, '', [...around, item]).map(({ type }) => type);
    if (inner.includes('object') || inner.includes('array')) return { type: 'array' };
    return { type: 'array', item: { schema: items, pointer: `${place}/items` } };
  }
}

/** Reads the text of a query or form value; text that does not fit stays a string, for validation to name. */
export type Coerce = (text: string) => unknown;

/** Whether a value fits the schema at a pointer of the whole, for a text with several readings. */
export type FitsAt = (schema: JsonSchema, pointer: string) => (value: unknown) => boolean;

const decimal = /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;
const beginsAsJson = /^\s*[[{]/;
const longestNumber = 1000;
const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/**
 * The reader for one property by the types that its schema declares, wherever it does: itself, in `const` and `enum`, in
 * alternatives, behind references. A text can be, in this order of preference: a list or an object as JSON, where it begins
 * as one; a number in decimal notation, finite; a boolean as `true 1 false 0`; itself; a list with commas, spaces around an
 * item dropped, the empty text being the empty list, where the items are no lists or objects and the text does not begin as
 * JSON. The first that fits the schema counts, else the first of all: so a text becomes what the same value sent as JSON would be,
 * or is refused.
 * `pointer` is the schema's place in `root`, for `fitsAt`.
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
