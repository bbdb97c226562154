import { asSchema, isObject, type JsonSchema, typesOf } from '../json-schema.js';
import { quote } from '../quote.js';
import { choiceForm } from './choice.js';
import { colorForm } from './color/parse-color.js';
import { fractionForm } from './fraction.js';

/**
 * What a schema allows, as a noun for messages and documentation: `an integer from 0 to 5000`, `one of png, jpg, webp`,
 * `true or false`, `a list of at most 100 items, each a string`.
 */
export function describeProperty(schema: JsonSchema): string {
  if (schema.color === true) return colorForm;
  if (schema.fraction === true) return fractionForm;
  if (isObject(schema.choice)) return choiceForm(schema.choice as Record<string, string[]>);
  if ('const' in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map(literal).join(', ')}`;
  const types = typesOf({ type: schema.type });
  if (types.length > 0) return alternatives(types.map((type) => describeType(type, schema)));
  for (const branches of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(branches))
      return alternatives(branches.map((each) => describeProperty(asSchema(each))));
  }
  return 'a value that its schema allows';
}

function describeType(type: string, schema: JsonSchema): string {
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
      return describeList(schema);
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
  if (schema.drawable === true) parts.push(' that the fonts here can draw');
  return parts.join('');
}

/** A regular expression says little to most people; where the schema has words for it, they stand in its place. */
function describePattern({ pattern, description }: JsonSchema): string {
  return typeof description === 'string'
    ? ` (${description.replace(/\.$/, '')})`
    : ` that matches ${pattern}`;
}

function describeList(schema: JsonSchema): string {
  const unique = schema.uniqueItems === true ? ', all different' : '';
  const items = isObject(schema.items) ? `, each ${describeProperty(schema.items)}` : '';
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
    typeof minimum === 'number' ? ` of at least ${minimum}` : '',
    typeof exclusiveMinimum === 'number' ? ` above ${exclusiveMinimum}` : '',
    typeof maximum === 'number' ? ` of at most ${maximum}` : '',
    typeof exclusiveMaximum === 'number' ? ` below ${exclusiveMaximum}` : '',
  ].filter((bound) => bound !== '');
  return bounds.join(' and') + step;
}

function alternatives(forms: string[]): string {
  return [...new Set(forms)].join(' or ');
}

function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value);
  return /^[\w.-]+$/.test(value) ? value : quote(value);
}
