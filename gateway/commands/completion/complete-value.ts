import { asSchema, followReference, isObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { takesAutoColor } from '../../../schemas/vocabulary/color.js';
import { isMeasure } from '../../../schemas/vocabulary/measure.js';
import { beginningWith, type Candidate, type Completion, nothing, prefixed } from './candidates.js';

/** Colours that one may think of; thousands of names are known. */
const colors = [
  'black',
  'white',
  'gray',
  'red',
  'orange',
  'gold',
  'green',
  'teal',
  'blue',
  'navy',
  'purple',
  'pink',
  'tomato',
  'steelblue',
];
const deepest = 5;

/** Completes a parameter's value by its schema: what it lists, true and false, colours, its default. Of a list the last item. */
export function completeValue(schema: JsonSchema, root: JsonSchema, typed: string): Completion {
  const declared = followReference(schema, root);
  const items = isObject(declared.items) ? declared.items : undefined;
  if (items && !typed.startsWith('[')) {
    const before = typed.slice(0, typed.lastIndexOf(',') + 1);
    return prefixed(before, beginningWith(typed.slice(before.length), listed(items, root)));
  }
  const values = listed(declared, root);
  const preset = declared.default;
  const isNew = !values.some(({ value }) => value === String(preset));
  const isPlain = typeof preset === 'string' || typeof preset === 'number';
  const own = isPlain && isNew && preset !== '' ? [{ value: String(preset), description: 'default' }] : [];
  const all = [...values, ...own];
  return all.length === 0 ? nothing : beginningWith(typed, all);
}

function listed(described: JsonSchema, root: JsonSchema, depth = 0): Candidate[] {
  const schema = followReference(described, root);
  if (depth > deepest) return [];
  if ('const' in schema) return [{ value: asWord(schema.const) }];
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value: asWord(value) }));
  if (isObject(schema.choice)) return Object.keys(schema.choice).map((value) => ({ value }));
  if (schema.color !== undefined) {
    return [...(takesAutoColor(schema.color) ? ['auto'] : []), ...colors].map((value) => ({ value }));
  }
  if (isMeasure(schema.measure)) return schema.measure.auto ? [{ value: 'auto' }] : [];
  const branches = [schema.oneOf, schema.anyOf].flatMap((each) => (Array.isArray(each) ? each : []));
  const found = branches.flatMap((each) => listed(asSchema(each), root, depth + 1));
  const isBoolean = [schema.type].flat().includes('boolean');
  return isBoolean ? [{ value: 'true' }, { value: 'false' }, ...found] : found;
}

function asWord(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
