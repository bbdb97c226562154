import type { Ajv } from 'ajv';
import { fieldOf, mismatch, toProblems } from '../explain-errors.js';
import { joinField } from '../field-problem.js';
import {
  asSchema,
  decodePointer,
  isObject,
  type JsonSchema,
  mapSubschemas,
  placeBelow,
  type SchemaPart,
  type SchemaPlace,
  subschemas,
  typesOf,
  walkSchema,
} from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { quote } from '../quote.js';

const knownTypes = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/**
 * Every fault of a schema called `name`, each with its place: `input.properties.width.minimum must be a number, …`. ajv reports all
 * that breaks the meta-schema, but only the first that its strict mode refuses, mostly without a place: so each keyword is compiled
 * alone here. That is slow, and meant for a schema that ajv has refused.
 */
export function schemaFaults(ajv: Ajv, schema: JsonSchema, name: string): string[] {
  const faults = new Map<string, string>();
  const report = ({ path, pointer }: SchemaPlace, problem: string) => {
    if (!faults.has(path)) faults.set(path, `${path} ${problem} (#${pointer})`);
  };
  const parts = walkSchema(schema, name);
  for (const { schema: part, place } of parts) {
    for (const keyword of Object.keys(part)) {
      if (!Object.hasOwn(ajv.RULES.keywords, keyword))
        report(placeBelow(place, keyword), unknownKeyword(ajv, part, keyword, place));
    }
    const { type } = part;
    if (typeof type === 'string' && !knownTypes.includes(type)) {
      const wanted = `must be one of ${knownTypes.join(', ')}`;
      report(placeBelow(place, 'type'), `${wanted}, but is ${quote(type)}${didYouMean(type, knownTypes)}`);
    }
    const lost = referenceFault(part, schema);
    if (lost !== undefined) report(placeBelow(place, '$ref'), lost);
  }
  for (const { field, pointer, problem } of metaFaults(ajv, schema)) {
    report({ path: `${name}.${field}`, pointer }, problem);
  }
  for (const part of parts) {
    const { schema: inner, place } = part;
    const around = typesAround(part);
    if (!around.every((type) => knownTypes.includes(type))) continue;
    for (const { keyword, problem } of strictFaults(ajv, inner, around))
      report(placeBelow(place, keyword), problem);
  }
  return [...faults.values()];
}

/** Whether a `$ref` of the schema leads back to itself: ajv compiles that, and validates without end. */
export function hasEndlessReference(schema: JsonSchema): boolean {
  return walkSchema(schema).some(({ schema: part }) => isEndlessReference(part, schema));
}

/** The types that the schemas around a part say of the same value. */
function typesAround({ keyword, parent }: SchemaPart): string[] {
  if (keyword === undefined || parent === undefined || !sameValueKeywords.has(keyword)) return [];
  const { schema } = parent;
  return 'type' in schema ? typesOf({ type: schema.type }) : typesAround(parent);
}

/** What breaks the meta-schema. */
function metaFaults(ajv: Ajv, schema: JsonSchema) {
  if (ajv.validateSchema(schema)) return [];
  const errors = ajv.errors ?? [];
  const pointers = new Map(errors.map((error) => [fieldOf(error), error.instancePath]));
  const meta = asSchema(ajv.getSchema('http://json-schema.org/draft-07/schema')?.schema);
  return toProblems(errors, meta).map((each) => ({ ...each, pointer: pointers.get(each.field) ?? '' }));
}

function unknownKeyword(ajv: Ajv, schema: JsonSchema, keyword: string, { path }: SchemaPlace): string {
  const near = didYouMean(keyword, Object.keys(ajv.RULES.keywords));
  // The commonest mistake: a property's schema among the keywords.
  const isProperty = near === '' && isObject(schema[keyword]) && schema.properties === undefined;
  const meant = isProperty ? `; did you mean ${joinField(path, 'properties')}.${keyword}?` : near;
  return `is an unknown keyword: ${quote(keyword)}${meant}`;
}

/** Keywords that make sense only together; the others are checked alone. */
const keywordGroups = [
  ['if', 'then', 'else'],
  ['items', 'additionalItems', 'minItems', 'maxItems'],
  ['properties', 'patternProperties', 'additionalProperties'],
  ['type', 'nullable'],
  ['discriminator', 'oneOf'],
];
const skippedKeywords = new Set(['$ref', '$comment', 'id']);

/**
 * What ajv's strict mode, or an own keyword, refuses in one schema; `around` are the types that hold for it from outside. Schemas
 * inside of it, and what breaks the meta-schema, are left out.
 */
function strictFaults(ajv: Ajv, schema: JsonSchema, around: string[]) {
  const shallow = mapSubschemas(schema, () => true);
  const type = schema.type ?? (around.length > 0 ? around : undefined);
  const found: { keyword: string; problem: string }[] = [];
  for (const group of groupsOf(schema, ajv)) {
    const [keyword = ''] = group;
    const alone = Object.fromEntries(group.map((each) => [each, shallow[each]]));
    try {
      ajv.compile(type === undefined ? alone : { type, ...alone });
    } catch (error) {
      const problem = problemOf(ajv, keyword, schema[keyword], String((error as Error).message));
      if (problem !== undefined) found.push({ keyword, problem });
    }
  }
  return found;
}

function groupsOf(schema: JsonSchema, ajv: Ajv): string[][] {
  const present = Object.keys(schema).filter(
    (keyword) => keyword in ajv.RULES.all && !skippedKeywords.has(keyword),
  );
  const together = keywordGroups.map((group) => group.filter((keyword) => present.includes(keyword)));
  const grouped = new Set(together.flat());
  const alone = present.filter((keyword) => !grouped.has(keyword)).map((keyword) => [keyword]);
  return [...together.filter((group) => group.length > 0), ...alone];
}

function problemOf(ajv: Ajv, keyword: string, value: unknown, message: string): string | undefined {
  if (message.startsWith('schema is invalid')) return undefined;
  const type = /missing type "([\w,]+)"/.exec(message)?.[1];
  if (type !== undefined) return `needs "type": ${quote(type)} beside it`;
  if (keyword === 'format' && typeof value === 'string') {
    return `is an unknown format: ${quote(value)}; none is known, write a pattern`;
  }
  const definition = ajv.getKeyword(keyword);
  const { metaSchema } = typeof definition === 'object' ? definition : {};
  if (isObject(metaSchema) && /value is invalid/.test(message)) return settingFault(ajv, metaSchema, value);
  return `is refused: ${plainMessage(message)}`;
}

/** What is wrong with the setting of an own keyword: inside of it, where it is the right kind of value. */
function settingFault(ajv: Ajv, metaSchema: JsonSchema, value: unknown): string {
  const validate = ajv.compile(metaSchema);
  validate(value);
  const inside = toProblems(validate.errors ?? [], metaSchema).filter(({ field }) => field !== '*');
  if (inside.length > 0) {
    return `is no setting of it: ${inside.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`;
  }
  const [example] = Array.isArray(metaSchema.examples) ? metaSchema.examples : [];
  const hint = example === undefined ? '' : `; write ${JSON.stringify(example)}`;
  return mismatch(metaSchema, value) + hint;
}

/** ajv's words without its place, which is that of a part compiled alone. */
function plainMessage(message: string): string {
  return message
    .replace(/^strict mode: /, '')
    .replace(/ (?:in schema )?at (?:path )?"#[^"]*"/, '')
    .replace(/ \(strict\w+\)$/, '');
}

/** Schemas under these validate the same value. */
const sameValueKeywords = new Set('allOf anyOf oneOf not if then else'.split(' '));

/** What is wrong with the `$ref` of `part`, a schema inside of `root`; undefined where it leads somewhere, or nowhere that is known here. */
function referenceFault(part: JsonSchema, root: JsonSchema): string | undefined {
  const { $ref } = part;
  if (typeof $ref !== 'string') return undefined;
  if ($ref === '#' || $ref === '#/') {
    return 'points to the whole input, which cannot hold itself; point to a part under "definitions"';
  }
  if (isEndlessReference(part, root)) return 'leads back to itself, so that validation would never end';
  const to = pointerTarget($ref, root);
  return isObject(to) || typeof to === 'boolean' || isIdentified($ref, root)
    ? undefined
    : `points to nothing: ${quote($ref)}; only what is under "definitions" or "$defs" of the same input can be found`;
}

/** What a pointer into `root` leads to, of its own properties. */
export function pointerTarget(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const token of reference.slice(2).split('/')) {
    const key = decodePointer(token);
    if (key === undefined || typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) {
      return undefined;
    }
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

/** Whether a part has an `$id` that may be meant; ajv knows how these are resolved. */
function isIdentified(reference: string, root: JsonSchema): boolean {
  const [address] = reference.split('#');
  return walkSchema(root).some(
    ({ schema: { $id }, parent }) =>
      parent && typeof $id === 'string' && ($id === reference || $id.endsWith(address || reference)),
  );
}

/** Whether the target of `part`'s `$ref` validates the same value by `part` again, and so on for ever. */
function isEndlessReference(part: JsonSchema, root: JsonSchema): boolean {
  const seen = new Set<JsonSchema>();
  const waiting = targets(part, root);
  for (let schema = waiting.pop(); schema; schema = waiting.pop()) {
    if (schema === part) return true;
    if (seen.has(schema)) continue;
    seen.add(schema);
    for (const { keyword, schema: inner } of subschemas(schema)) {
      if (sameValueKeywords.has(keyword)) waiting.push(inner);
    }
    waiting.push(...targets(schema, root));
  }
  return false;
}

function targets({ $ref }: JsonSchema, root: JsonSchema): JsonSchema[] {
  const to = typeof $ref === 'string' ? pointerTarget($ref, root) : undefined;
  return isObject(to) ? [to] : [];
}

/**
 * What in a value called `name` is not JSON, each with its place: cycles, functions and the like. A schema is walked as a whole and
 * sent to the worker threads.
 */
export function jsonFaults(value: unknown, name: string): string[] {
  const faults: string[] = [];
  const around = new Set<object>();
  visit(value, name);
  return faults;

  function visit(each: unknown, path: string): void {
    if (['function', 'symbol', 'bigint'].includes(typeof each)) {
      faults.push(`${path} is a ${typeof each}; a schema is plain JSON`);
    }
    if (typeof each !== 'object' || each === null) return;
    if (around.has(each)) {
      faults.push(`${path} holds itself; write it once under "definitions", and a "$ref" to it here`);
      return;
    }
    around.add(each);
    for (const [key, inner] of Object.entries(each)) visit(inner, joinField(path, key));
    around.delete(each);
  }
}
