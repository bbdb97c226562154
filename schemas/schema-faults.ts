import type { Ajv } from 'ajv';
import { fieldOf, joinField, toProblems } from './explain-errors.js';
import { asSchema, escapePointer, isObject, type JsonSchema, typesOf } from './json-schema.js';
import { didYouMean } from './nearest.js';
import { quote } from './quote.js';
import { isEndlessReference, referenceFault, sameValueKeywords } from './reference-faults.js';
import { strictFaults } from './strict-faults.js';
import { subschemas } from './subschemas.js';

/** A place in the schema: as a person writes it, and as a JSON pointer, which editors find. */
interface Place {
  path: string;
  pointer: string;
}

/** A schema inside of another: where it stands, and the types that are said of its value there. */
interface Part {
  schema: JsonSchema;
  place: Place;
  types: string[];
}

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
/**
 * Every fault of a schema called `name`, each with its place: `input.properties.width.minimum must be a number, …`. ajv itself
 * tells all that breaks the meta-schema, but of what its strict mode refuses only the first, and mostly without a place: so each
 * keyword is compiled alone here. That is slow: it is meant for a schema of which ajv has said that something is wrong with it.
 */
export function schemaFaults(ajv: Ajv, schema: JsonSchema, name: string): string[] {
  const faults = new Map<string, string>();
  const tell = ({ path, pointer }: Place, problem: string) => {
    if (!faults.has(path)) faults.set(path, `${path} ${problem} (#${pointer})`);
  };
  const parts = partsOf({ schema, place: { path: name, pointer: '' }, types: [] });
  for (const { schema: part, place } of parts) {
    for (const keyword of Object.keys(part)) {
      if (!Object.hasOwn(ajv.RULES.keywords, keyword))
        tell(below(place, keyword), unknownKeyword(ajv, part, keyword, place));
    }
    const { type } = part;
    if (typeof type === 'string' && !types.includes(type)) {
      const meant = didYouMean(type, types);
      tell(below(place, 'type'), `must be one of ${types.join(', ')}, but is ${quote(type)}${meant}`);
    }
    const lost = referenceFault(part, schema);
    if (lost !== undefined) tell(below(place, '$ref'), lost);
  }
  tellMetaFaults(ajv, schema, (field, pointer, problem) => {
    tell({ path: `${name}.${field}`, pointer }, problem);
  });
  for (const { schema: part, place, types: inForce } of parts) {
    if (!inForce.every((type) => types.includes(type))) continue;
    for (const { keyword, problem } of strictFaults(ajv, part, inForce)) tell(below(place, keyword), problem);
  }
  return [...faults.values()];
}

/** Whether a `$ref` of the schema leads back to itself: ajv compiles that, and then judges without end. */
export function hasEndlessReference(schema: JsonSchema): boolean {
  return partsOf({ schema, place: { path: '', pointer: '' }, types: [] }).some(({ schema: part }) =>
    isEndlessReference(part, schema),
  );
}

function partsOf(whole: Part): Part[] {
  const parts = [whole];
  for (const { schema, place, types: around } of parts) {
    const inForce = 'type' in schema ? typesOf({ type: schema.type }) : around;
    for (const { keyword, key, schema: inner } of subschemas(schema)) {
      const at = below(place, keyword);
      parts.push({
        schema: inner,
        place: key === undefined ? at : below(at, String(key)),
        // Of the same value the type around holds too.
        types: sameValueKeywords.has(keyword) ? inForce : [],
      });
    }
  }
  return parts;
}

function below({ path, pointer }: Place, key: string): Place {
  return {
    path: joinField(path, key),
    pointer: `${pointer}/${escapePointer(key)}`,
  };
}

function tellMetaFaults(
  ajv: Ajv,
  schema: JsonSchema,
  tell: (field: string, pointer: string, problem: string) => void,
): void {
  if (ajv.validateSchema(schema)) return;
  const errors = ajv.errors ?? [];
  const pointers = new Map(errors.map((error) => [fieldOf(error), error.instancePath]));
  const meta = asSchema(ajv.getSchema('http://json-schema.org/draft-07/schema')?.schema);
  for (const { field, problem } of toProblems(errors, meta)) tell(field, pointers.get(field) ?? '', problem);
}

function unknownKeyword(ajv: Ajv, schema: JsonSchema, keyword: string, { path }: Place): string {
  const near = didYouMean(keyword, Object.keys(ajv.RULES.keywords));
  // The commonest slip of all: a property's schema where the keywords stand.
  const isProperty = near === '' && isObject(schema[keyword]) && schema.properties === undefined;
  const meant = isProperty ? `; did you mean ${joinField(path, 'properties')}.${keyword}?` : near;
  return `is an unknown keyword: ${quote(keyword)}${meant}`;
}
