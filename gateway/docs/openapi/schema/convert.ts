import { isObject, type JsonSchema } from '../../../../schemas/json-schema.js';
import { mapSubschemas } from '../../../../schemas/subschemas.js';
import type { Components } from './components.js';
import { discriminated } from './discriminated.js';
import { draft2020Keywords } from './draft-2020.js';
import { createReferences } from './references.js';
import { standardKeywords } from './standard-keywords.js';

/**
 * Makes 2020-12 in plain JSON Schema, for a document, of `root`, a draft-07 schema of a plugin, and of the schemas inside of it. What
 * is referred to, and alternatives that a property tells apart, become components of the document, called `prefix` and a
 * name of their own.
 */
export function createConverter(
  root: JsonSchema,
  prefix: string,
  components: Components,
): (schema: JsonSchema) => JsonSchema {
  const targetOf = createReferences(root);
  const placed = new Map<unknown, string>();
  return convert;

  function convert(schema: JsonSchema): JsonSchema {
    const inner = mapSubschemas(schema, (found) => convert(found.schema));
    return referring(schema, draft2020Keywords(standardKeywords(alternatives(schema, inner))));
  }

  function referring(schema: JsonSchema, converted: JsonSchema): JsonSchema {
    const target = targetOf(schema);
    if (target === undefined) return converted;
    const { $ref: _, ...others } = converted;
    if (!isObject(target.schema)) return target.schema === false ? { ...others, not: {} } : others;
    return { ...others, $ref: place(target.schema, target.name) };
  }

  function place(schema: JsonSchema, name: string): string {
    const known = placed.get(schema);
    if (known !== undefined) return known;
    // It has its place before it is made, for it may refer to itself.
    const { ref, set } = components.reserve(`${prefix}.${name}`);
    placed.set(schema, ref);
    set(convert(schema));
    return ref;
  }

  /** OpenAPI tells alternatives apart only where each is a component. */
  function alternatives(schema: JsonSchema, inner: JsonSchema): JsonSchema {
    return discriminated(schema, inner, root, (branch, name) =>
      branch.$ref === undefined ? place(branch, name) : (targetRef(branch) ?? undefined),
    );
  }

  function targetRef(branch: JsonSchema): string | undefined {
    const target = targetOf(branch);
    return target && isObject(target.schema) ? place(target.schema, target.name) : undefined;
  }
}
