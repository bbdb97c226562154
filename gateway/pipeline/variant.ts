import { asSchema } from '../../schemas/json-schema.js';
import type { Helper } from '../helpers/registry.js';

/**
 * What makes a helper's calls unlike in cost, for the pool to tell them apart: the format that pictures are asked for in, of which one
 * may take thirty times as long as another. Only where it is one of a few that the schema lists, for the pool keeps a mean of each.
 */
export function variantOf({
  declaration: { input },
}: Helper): (input: Record<string, unknown>) => string | undefined {
  const { format } = asSchema(asSchema(input.properties));
  const { choice, enum: listed } = asSchema(format);
  if (choice === undefined && listed === undefined) return () => undefined;
  return function variantOf(given) {
    return typeof given.format === 'string' ? given.format : undefined;
  };
}
