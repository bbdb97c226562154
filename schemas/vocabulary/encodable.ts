import type { FuncKeywordDefinition } from 'ajv';
import { isObject } from '../json-schema.js';
import { normalisingKeyword } from './keyword.js';

/** Why a format of pictures cannot be had here: the engine that runs, and what it writes in its place. */
export interface NotEncodable {
  engine: string;
  instead: readonly string[];
}

/** Judges a format, by the name that answers use; undefined for one that can be had, and for what is no format of pictures. */
export type CanEncode = (format: string) => NotEncodable | undefined;

/**
 * `encodable: true` on a string beside `choice`: the engine that runs here can write it. Without `canEncode` every format passes;
 * so do a schema's own defaults and examples, for a plugin is to load whatever engine there is.
 */
export function encodableKeyword(canEncode?: CanEncode): FuncKeywordDefinition {
  return normalisingKeyword({
    keyword: 'encodable',
    type: 'string',
    metaSchema: { const: true },
    prepare(_, { choice }) {
      const chosen = isObject(choice) ? Object.keys(choice) : undefined;
      return (value, { anyEngine }) => {
        const refused = anyEngine ? undefined : canEncode?.(value as string);
        if (refused === undefined) return { ok: true, value };
        const { engine, instead } = refused;
        const offered = instead.filter((each) => chosen === undefined || chosen.includes(each));
        const hint = offered.length > 0 ? `; ask for ${alternatives(offered)}` : '';
        const problem = `cannot be ${value} here: the image engine ${engine} does not write it${hint}`;
        return { ok: false, problem };
      };
    },
  });
}

function alternatives(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' or $1');
}
