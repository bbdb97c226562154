import type { Keyword } from './keyword.js';

/**
 * `encodable: true` on a string beside `choice`: the image engine that runs here writes it. A schema's own defaults and examples pass
 * with any engine, because a plugin loads with each of them.
 */
export const encodable: Keyword<true> = {
  name: 'encodable',
  type: 'string',
  metaSchema: { const: true },
  accepts: (setting) => setting === true,
  prepare:
    (_, __, { canEncode }) =>
    (value, { anyEngine }) => {
      const problem = anyEngine ? undefined : canEncode?.(value);
      return problem === undefined ? { value } : { problem };
    },
};
