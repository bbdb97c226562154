import { joinField } from './field-problem.js';

/** A JSON Schema object as a plugin declares it: nothing is known about its keywords. */
export type JsonSchema = Record<string, unknown>;

/** Whether `value` is an object, not a list or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a schema; a boolean, or anything else, counts as the empty one. */
export function asSchema(value: unknown): JsonSchema {
  return isObject(value) ? value : {};
}

/**
 * The types that a schema allows, in its own order: of `type`, else of the values of `const` and `enum`, else of its
 * alternatives. Empty where it does not say, or says so behind a `$ref`.
 */
export function typesOf(schema: JsonSchema): string[] {
  if (typeof schema.type === 'string') return [schema.type];
  if (Array.isArray(schema.type)) return schema.type.filter((type) => typeof type === 'string');
  if ('const' in schema) return [typeOfValue(schema.const)];
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOfValue))];
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat();
  return [...new Set(branches.flatMap((branch) => typesOf(asSchema(branch))))];
}

const localReference = /^#\/(definitions|\$defs)\/([^/]+)$/;
const longestChain = 10;

/** One of a schema's own definitions: its name, and the keyword under which it stands. */
export type Definition = { keyword: string; name: string };

/** What a `$ref` to one of the schema's own definitions names. */
export function localDefinition(schema: JsonSchema): Definition | undefined {
  const match = typeof schema.$ref === 'string' ? localReference.exec(schema.$ref) : null;
  if (match === null) return undefined;
  const [, keyword = '', token = ''] = match;
  const name = decodePointer(token);
  return name === undefined ? undefined : { keyword, name };
}

/** One of the definitions of `root`. */
export function definitionAt(root: JsonSchema, { keyword, name }: Definition): JsonSchema {
  return asSchema(asSchema(root[keyword])[name]);
}

/** What a `$ref` to one of `root`'s own definitions points to, through at most ten of them; any other schema is itself. */
export function followReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let step = 0; step < longestChain; step += 1) {
    const to = localDefinition(current);
    if (to === undefined) return current;
    current = definitionAt(root, to);
  }
  return current;
}

/** One token of a JSON pointer as the name that it stands for. */
export function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The same of a token in a reference, percent-encoded; undefined where that cannot be decoded. */
export function decodePointer(token: string): string | undefined {
  try {
    return unescapePointer(decodeURIComponent(token));
  } catch {
    return undefined;
  }
}

/** A name as one token of a JSON pointer. */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Keywords that offer alternatives. */
export const alternativeKeywords: readonly string[] = ['anyOf', 'oneOf'];

/** The name of a JSON value's type. */
export function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

/** Keywords of draft-07 that hold schemas by name, in a list, or one; `items` is a list or one. */
const schemaMaps = 'properties patternProperties definitions $defs dependencies dependentSchemas'.split(' ');
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'items'];
const singleSchemas =
  'items additionalItems additionalProperties contains propertyNames not if then else'.split(' ');

/** A schema inside another: under which keyword, and by which name or place there. */
interface Subschema {
  keyword: string;
  key?: string | number;
  schema: JsonSchema;
}

/**
 * The schemas that stand directly in a schema; boolean ones are left out. Own code because `json-schema-traverse`, which ajv
 * uses, visits every level and makes no copy.
 */
export function subschemas(schema: JsonSchema): Subschema[] {
  const found: Subschema[] = [];
  const add = (value: unknown, keyword: string, key?: string | number) => {
    if (isObject(value)) found.push({ keyword, schema: value, ...(key === undefined ? {} : { key }) });
  };
  for (const keyword of schemaMaps) {
    const named = schema[keyword];
    if (isObject(named)) for (const [key, each] of Object.entries(named)) add(each, keyword, key);
  }
  for (const keyword of schemaLists) {
    const list = schema[keyword];
    if (Array.isArray(list)) list.forEach((each, key) => void add(each, keyword, key));
  }
  for (const keyword of singleSchemas) add(schema[keyword], keyword);
  return found;
}

/** A place in a schema: as a person writes it, and as a JSON pointer, which editors find. */
export interface SchemaPlace {
  path: string;
  pointer: string;
}

/** A schema inside of another, which is its parent. */
export interface SchemaPart {
  schema: JsonSchema;
  place: SchemaPlace;
  keyword?: string;
  parent?: SchemaPart;
}

/** The place of a keyword, or of a schema under it. */
export function placeBelow({ path, pointer }: SchemaPlace, key: string): SchemaPlace {
  return { path: joinField(path, key), pointer: `${pointer}/${escapePointer(key)}` };
}

/** A schema called `name` and all inside of it, parents first. */
export function walkSchema(schema: JsonSchema, name = ''): SchemaPart[] {
  const parts: SchemaPart[] = [{ schema, place: { path: name, pointer: '' } }];
  for (const parent of parts) {
    for (const { keyword, key, schema: inner } of subschemas(parent.schema)) {
      const around = placeBelow(parent.place, keyword);
      const place = key === undefined ? around : placeBelow(around, String(key));
      parts.push({ schema: inner, place, keyword, parent });
    }
  }
  return parts;
}

/** A copy in which each schema that stands directly in `schema` is replaced. */
export function mapSubschemas(schema: JsonSchema, replace: (found: Subschema) => unknown): JsonSchema {
  const copy: JsonSchema = { ...schema };
  for (const found of subschemas(schema)) {
    const { keyword, key } = found;
    const inside = schema[keyword];
    if (key === undefined) {
      copy[keyword] = replace(found);
      continue;
    }
    if (copy[keyword] === inside)
      copy[keyword] = Array.isArray(inside) ? [...inside] : { ...asSchema(inside) };
    // An assignment to `__proto__` would set the prototype.
    const property = { value: replace(found), writable: true, enumerable: true, configurable: true };
    Object.defineProperty(copy[keyword], key, property);
  }
  return copy;
}

/** The property whose value distinguishes alternatives, as `kind` in `{kind: 'circle', …}` and `{kind: 'square', …}`. */
export interface Tag {
  name: string;
  /** The values of each alternative, by the order of the alternatives. */
  values: unknown[][];
}

/** The tag of the alternatives, where each demands another value of one property; `parent` is the schema around them. */
export function findTag(branches: readonly unknown[], parent: JsonSchema, root: JsonSchema): Tag | undefined {
  if (branches.length < 2) return undefined;
  const resolved = branches.map((branch) => followReference(asSchema(branch), root));
  for (const name of Object.keys(asSchema(resolved[0]?.properties))) {
    const values = resolved.map((branch) => tagValuesOf(asSchema(branch.properties), name));
    const all = values.flat();
    if (values.some((each) => each.length === 0) || new Set(all).size < all.length) continue;
    if (requires(parent, name) || resolved.every((branch) => requires(branch, name))) return { name, values };
  }
  return undefined;
}

function tagValuesOf(properties: JsonSchema, name: string): unknown[] {
  if (!Object.hasOwn(properties, name)) return [];
  const property = asSchema(properties[name]);
  const values = 'const' in property ? [property.const] : Array.isArray(property.enum) ? property.enum : [];
  return values.every((value) => typeof value !== 'object') ? values : [];
}

function requires({ required }: JsonSchema, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}

/** Schema of an object that has these properties and no others, and all but the optional ones always. */
export function closedObject(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', required, additionalProperties: false, properties };
}
