import { asSchema, followReference, type JsonSchema, localDefinition, typesOf } from '../json-schema.js';
import { mapSubschemas } from '../subschemas.js';
import { findTag } from '../tag.js';

/**
 * The schema with ajv's `discriminator` wherever alternatives are told apart by a property of another text each: only the
 * alternative that is meant is judged then, so that no other complains, or writes its own normal form into the value. Nothing
 * else is taken or refused than before.
 */
export function tagAlternatives(root: JsonSchema): JsonSchema {
  const tagAll = (schema: JsonSchema): JsonSchema =>
    tagged(
      mapSubschemas(schema, (found) => tagAll(found.schema)),
      root,
    );
  return tagAll(root);
}

function tagged(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.discriminator !== undefined || (schema.oneOf !== undefined && schema.anyOf !== undefined)) {
    return schema;
  }
  const { anyOf, oneOf = anyOf, ...rest } = schema;
  if (!Array.isArray(oneOf) || !oneOf.every((each) => isFound(asSchema(each), root))) return schema;
  const isObjects = (each: unknown) => typesOf(followReference(asSchema(each), root)).join() === 'object';
  if (schema.type !== 'object' && !(schema.type === undefined && oneOf.every(isObjects))) return schema;
  const tag = findTag(oneOf, schema, root);
  const values = tag?.values.flat() ?? [];
  if (tag === undefined || !values.every(isText)) return schema;
  const demand = { required: [tag.name], properties: { [tag.name]: { enum: values } } };
  return {
    ...rest,
    type: 'object',
    oneOf,
    discriminator: { propertyName: tag.name },
    allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), demand],
  };
}

/** Whether `value` is one that ajv takes for a tag: it keeps them as keys of an object. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !(value in Object.prototype);
}

/** Whether ajv finds the tag where it looks for it: in the alternative itself, or one reference away. */
function isFound(branch: JsonSchema, root: JsonSchema): boolean {
  if (branch.$ref === undefined) return true;
  const to = localDefinition(branch);
  if (to === undefined || Object.keys(branch).length > 1) return false;
  return asSchema(asSchema(root[to.keyword])[to.name]).$ref === undefined;
}
