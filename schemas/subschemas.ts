import { isObject, type JsonSchema } from './json-schema.js';

/** Keywords of draft-07 that hold schemas by name, in a list, or one; `items` is a list or one. */
const byName = [
  'properties',
  'patternProperties',
  'definitions',
  '$defs',
  'dependencies',
  'dependentSchemas',
];
const inLists = ['allOf', 'anyOf', 'oneOf', 'items'];
const single = [
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
];

/** A schema inside another: under which keyword, and by which name or place there. */
export interface Subschema {
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
  for (const keyword of byName) {
    const named = schema[keyword];
    if (isObject(named)) for (const [key, each] of Object.entries(named)) add(each, keyword, key);
  }
  for (const keyword of inLists) {
    const list = schema[keyword];
    if (Array.isArray(list)) list.forEach((each, key) => void add(each, keyword, key));
  }
  for (const keyword of single) add(schema[keyword], keyword);
  return found;
}

/** A copy in which each schema that stands directly in `schema` is replaced. */
export function mapSubschemas(schema: JsonSchema, replace: (found: Subschema) => unknown): JsonSchema {
  const copy: JsonSchema = { ...schema };
  for (const found of subschemas(schema)) {
    const { keyword, key } = found;
    if (key === undefined) copy[keyword] = replace(found);
    else {
      const group = copy[keyword] === schema[keyword] ? copyGroup(schema[keyword]) : copy[keyword];
      setOwn(group as JsonSchema, key, replace(found));
      copy[keyword] = group;
    }
  }
  return copy;
}

function copyGroup(group: unknown): unknown {
  return Array.isArray(group) ? [...group] : { ...(group as JsonSchema) };
}

/** An assignment to `__proto__` would set the prototype. */
function setOwn(group: JsonSchema, key: string | number, value: unknown): void {
  Object.defineProperty(group, key, { value, writable: true, enumerable: true, configurable: true });
}
