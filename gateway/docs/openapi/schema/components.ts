import type { JsonSchema } from '../../../../schemas/json-schema.js';

/** The schemas of a document that others refer to. */
export interface Components {
  /** The `$ref` to a component, under this name or one like it, which is set later. */
  reserve(name: string): { ref: string; set(schema: JsonSchema): void };
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/** Schemas of a document's own, none yet; they stand at `place` in it, a JSON pointer with its `#`. */
export function createComponents(place: string): Components {
  const schemas: Record<string, JsonSchema> = {};
  return {
    schemas,
    reserve(wanted) {
      // What OpenAPI allows in a component's name.
      const plain = wanted.replace(/[^A-Za-z0-9._-]+/g, '_');
      let name = plain;
      for (let at = 2; Object.hasOwn(schemas, name); at += 1) name = `${plain}_${at}`;
      schemas[name] = {};
      return {
        ref: `${place}/${name}`,
        set(schema) {
          schemas[name] = schema;
        },
      };
    },
  };
}
