import { asSchema, findTag, followReference, isObject, type JsonSchema, typesOf } from './json-schema.js';
import { drawableNote } from './keywords/drawable.js';
import { askKeywords } from './keywords/keywords.js';
import { briefly, everything, type Listing, list, quote } from './quote.js';

/** What is said of a schema that says nothing that could be put in words. */
export const anything = 'a value that its schema allows';

/**
 * What a schema allows, as a noun for messages and documentation: `an integer from 0 to 5000`, `one of png, jpg, webp`,
 * `true or false`, `a list of at most 100 items, each a string`.
 */
export function describeProperty(described: JsonSchema, root: JsonSchema = {}): string {
  return describe(described, root, { around: [], listing: everything });
}

/** The same for a message: of many values only some. */
export function describeBriefly(described: JsonSchema, root: JsonSchema = {}): string {
  return describe(described, root, { around: [], listing: briefly });
}

interface Place {
  /** The schemas that this one stands in: one that holds itself is described once. */
  around: readonly JsonSchema[];
  listing: Listing;
}

function describe(described: JsonSchema, root: JsonSchema, { around, listing }: Place): string {
  const schema = followReference(described, root);
  const inside = { around: [...around, schema], listing };
  if (typeof schema.form === 'string') return schema.form;
  if (Array.isArray(schema.enum)) return `one of ${list(schema.enum.map(literal), ', ', listing)}`;
  const own = askKeywords(schema, (keyword, setting) => keyword.describe?.(setting, schema, listing));
  if (own !== undefined) return own;
  if ('const' in schema) return literal(schema.const);
  const branches = [schema.anyOf, schema.oneOf].find((each) => Array.isArray(each));
  const types = typesOf({ type: schema.type });
  const areObjects = types.every((type) => type === 'object');
  const tag = branches && areObjects ? findTag(branches, schema, root) : undefined;
  if (tag) return `an object with ${tag.name} ${list(tag.values.flat().map(literal), ' or ', listing)}`;
  if (types.length > 0) return alternatives(types.map((type) => describeType(type, schema, root, inside)));
  if (branches === undefined && Array.isArray(schema.allOf)) {
    return schema.allOf.map((each) => describe(asSchema(each), root, inside)).join(', and ');
  }
  if (branches === undefined) return anything;
  return alternatives(branches.map((each) => describeAlternative(asSchema(each), root, inside)));
}

/** Objects, beside each other, differ in what they must have. */
function describeAlternative(alternative: JsonSchema, root: JsonSchema, place: Place): string {
  const schema = followReference(alternative, root);
  const form = describe(schema, root, place);
  const names = Array.isArray(schema.required) ? schema.required : Object.keys(asSchema(schema.properties));
  return form === 'an object' && names.length > 0 ? `an object with ${names.join(' and ')}` : form;
}

function describeType(type: string, schema: JsonSchema, root: JsonSchema, place: Place): string {
  switch (type) {
    case 'integer':
      return `an integer${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      return describeString(schema);
    case 'array':
      return describeList(schema, root, place);
    case 'object':
      return 'an object';
    default:
      return type;
  }
}

function describeString(schema: JsonSchema): string {
  const parts = ['a string', size(schema.minLength, schema.maxLength, 'character')];
  if (typeof schema.format === 'string') parts.push(` of the format ${schema.format}`);
  if (typeof schema.pattern === 'string') parts.push(describePattern(schema));
  if (schema.drawable !== undefined) parts.push(drawableNote);
  return parts.join('');
}

/** A regular expression says little to most people; where the schema has words for it, they stand in its place. */
function describePattern({ pattern, description }: JsonSchema): string {
  if (typeof description !== 'string') return ` that matches ${pattern}`;
  return ` (${description.replace(/\.$/, '')})`;
}

function describeList(schema: JsonSchema, root: JsonSchema, place: Place): string {
  const unique = schema.uniqueItems === true ? ', all different' : '';
  const isKnown = isObject(schema.items) && !place.around.includes(followReference(schema.items, root));
  const items = isKnown ? `, each ${describe(asSchema(schema.items), root, place)}` : '';
  return `a list${size(schema.minItems, schema.maxItems, 'item')}${unique}${items}`;
}

function size(min: unknown, max: unknown, noun: string): string {
  const least = typeof min === 'number' && min > 0 ? min : undefined;
  const most = typeof max === 'number' ? max : undefined;
  const unit = (most ?? least) === 1 ? noun : `${noun}s`;
  if (least !== undefined && most !== undefined) {
    return least === most ? ` of ${most} ${unit}` : ` of ${least} to ${most} ${unit}`;
  }
  if (most !== undefined) return ` of at most ${most} ${unit}`;
  return least === undefined ? '' : ` of at least ${least} ${unit}`;
}

function range(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === 'number' ? ` in steps of ${multipleOf}` : '';
  if (typeof minimum === 'number' && typeof maximum === 'number')
    return ` from ${minimum} to ${maximum}${step}`;
  const bounds = [
    [' of at least', minimum],
    [' above', exclusiveMinimum],
    [' of at most', maximum],
    [' below', exclusiveMaximum],
  ].filter(([, bound]) => typeof bound === 'number');
  return bounds.map((bound) => bound.join(' ')).join(' and') + step;
}

function alternatives(forms: string[]): string {
  return [...new Set(forms)].join(' or ');
}

function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value);
  return /^[\w.-]+$/.test(value) ? value : quote(value);
}
