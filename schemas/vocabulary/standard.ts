import type { JsonSchema } from '../json-schema.js';

/**
 * The schema as plain JSON Schema, for documents that other programs read: each keyword of the administration's vocabulary
 * becomes what comes nearest to it.
 */
export function standardSchema(schema: JsonSchema, knownScopes: readonly string[]): JsonSchema {
  const { form: _form, future: _future, line, day, scopes, ...standard } = schema;
  return {
    ...standard,
    ...(typeof line === 'number' && { minLength: 1, maxLength: line }),
    ...(day === true && { format: 'date' }),
    ...(scopes === true && {
      items: { type: 'string', ...(knownScopes.length > 0 && { enum: knownScopes }) },
    }),
  };
}
