import type { FuncKeywordDefinition } from 'ajv';
import { normalisingKeyword } from './keyword.js';

/** What is wrong with a format here, by the name that answers use; undefined for one that can be had, and for what is no format. */
export type CanEncode = (format: string) => string | undefined;

/**
 * `encodable: true` on a string beside `choice`: the image engine that runs here writes it. Without `canEncode` every format passes;
 * so do a schema's own defaults and examples, for a plugin is to load whatever engine there is.
 */
export function encodableKeyword(canEncode?: CanEncode): FuncKeywordDefinition {
  return normalisingKeyword({
    keyword: 'encodable',
    type: 'string',
    metaSchema: { const: true },
    prepare:
      () =>
      (value, { anyEngine }) => {
        const problem = anyEngine ? undefined : canEncode?.(value as string);
        return problem === undefined ? { ok: true, value } : { ok: false, problem };
      },
  });
}
