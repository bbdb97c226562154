import type { Options } from 'ajv';

/**
 * For schemas that are written here and no plugin's: a test holds them against the rules of JSON Schema, which take longer to compile
 * than what is judged by them.
 */
export const ownSchemas = { meta: false, validateSchema: false } satisfies Options;
