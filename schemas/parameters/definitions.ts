import { asSchema, escapePointer, type JsonSchema, localDefinition } from '../json-schema.js';
import { mapSubschemas } from '../subschemas.js';

type Place = { keyword: string; name: string };

/** A schema's definitions, of which variants are wanted where they are referred to. */
export interface Definitions {
  /** The `$ref` to a variant of a definition; it is made once for each key. */
  variant(of: Place, key: string, make: (definition: JsonSchema) => JsonSchema): string;
  /** The schema with references to the definitions as they were written. */
  asWritten(schema: JsonSchema): JsonSchema;
  /** The schema with all variants among its definitions. */
  addTo(schema: JsonSchema): JsonSchema;
}

/** The definitions of `root`, to be kept apart from their variants. */
export function createDefinitions(root: JsonSchema): Definitions {
  const variants = new Map<string, { place: Place; schema: JsonSchema }>();

  function variant(of: Place, key: string, make: (definition: JsonSchema) => JsonSchema): string {
    const id = JSON.stringify([of.keyword, of.name, key]);
    let made = variants.get(id);
    if (made === undefined) {
      made = { place: { keyword: of.keyword, name: freeName(of) }, schema: {} };
      // It stands there before it is made, for it may refer to itself.
      variants.set(id, made);
      const { $id: _, ...definition } = asSchema(asSchema(root[of.keyword])[of.name]);
      made.schema = make(definition);
    }
    return referenceTo(made.place);
  }

  function freeName({ keyword, name }: Place): string {
    let free = `${name} (${variants.size + 1})`;
    while (Object.hasOwn(asSchema(root[keyword]), free)) free += '+';
    return free;
  }

  function asWritten(schema: JsonSchema): JsonSchema {
    const copy = mapSubschemas(schema, (found) => asWritten(found.schema));
    const to = localDefinition(schema);
    return to === undefined ? copy : { ...copy, $ref: variant(to, 'as written', asWritten) };
  }

  return {
    variant,
    asWritten,
    addTo(schema) {
      const whole = { ...schema };
      for (const { place, schema: made } of variants.values()) {
        whole[place.keyword] = { ...asSchema(whole[place.keyword]), [place.name]: made };
      }
      return whole;
    },
  };
}

function referenceTo({ keyword, name }: Place): string {
  return `#/${keyword}/${encodeURIComponent(escapePointer(name))}`;
}
