import { asSchema, choices, isObject, type JsonSchema, localDefinition } from '../json-schema.js';
import { mapSubschemas } from '../subschemas.js';
import { declaredNames, type Names } from './declared-names.js';
import { createDefinitions } from './definitions.js';

/** Keywords that ask about a value, or demand something of it on a condition: what they hold stays as it is. */
const conditions = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'dependencies',
  'dependentSchemas',
];
const annotations = ['$ref', '$comment', 'title', 'description', 'default', 'examples'];

/**
 * The schema with its nested objects closed as the parameters themselves are: where an object's `properties` are declared and
 * nothing is said of others (`additionalProperties`, `patternProperties`), a name that is not declared is refused. What
 * `allOf`, a `$ref` and `if` declare of the same object counts as declared; `anyOf` and `oneOf` are closed each alternative for
 * itself. draft-07 has no `unevaluatedProperties`, so each `properties` learns the names that are declared beside it.
 */
export function closeNested(root: JsonSchema): JsonSchema {
  const definitions = createDefinitions(root);
  return definitions.addTo(closeObject(root, new Set()));

  /** Closes a schema for an object of which `others` are declared elsewhere. */
  function closeObject(schema: JsonSchema, others: Names): JsonSchema {
    // A definition is closed where it stands.
    if (others.size === 0 && isReference(schema)) return schema;
    const leavesOpen = declaredNames(schema, root, () => false) === undefined;
    return closePart(
      schema,
      unite(
        others,
        declaredNames(schema, root, () => true),
      ),
    );

    /** `names` are all that the object may have; undefined where the schema itself says so, or leaves it to an alternative. */
    function closePart(part: JsonSchema, names: Names | undefined): JsonSchema {
      const closed = mapSubschemas(part, ({ keyword, schema: inner }) => {
        if (conditions.includes(keyword)) return definitions.asWritten(inner);
        if (keyword === 'allOf') return closePart(inner, names);
        return choices.includes(keyword)
          ? closeAlternative(inner, part[keyword])
          : closeObject(inner, new Set());
      });
      return closeReference(closeHere(closed, names), names);
    }

    function closeAlternative(branch: JsonSchema, alternatives: unknown): JsonSchema {
      const beside = unite(
        others,
        declaredNames(schema, root, (each) => each !== alternatives),
      );
      return leavesOpen || beside === undefined ? closePart(branch, undefined) : closeObject(branch, beside);
    }

    function closeReference(part: JsonSchema, names: Names | undefined): JsonSchema {
      const to = localDefinition(part);
      if (to === undefined) return part;
      const key = names === undefined ? 'open' : JSON.stringify([...names].sort());
      return { ...part, $ref: definitions.variant(to, key, (definition) => closePart(definition, names)) };
    }
  }
}

function isReference(schema: JsonSchema): boolean {
  return schema.$ref !== undefined && Object.keys(schema).every((key) => annotations.includes(key));
}

function unite(names: Names, more: Names | undefined): Names | undefined {
  return more && new Set([...names, ...more]);
}

function closeHere(schema: JsonSchema, names: Names | undefined): JsonSchema {
  if (names === undefined || !isObject(schema.properties)) return schema;
  const known = Object.fromEntries([...names].map((name) => [name, true]));
  return { ...schema, properties: { ...known, ...asSchema(schema.properties) }, additionalProperties: false };
}
