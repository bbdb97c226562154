import type { Options } from 'ajv';
import { compiledQuickly } from './compiled-quickly.js';

/**
 * For schemas that are written here and no plugin's: a test holds them against the rules of JSON Schema, which take longer to compile
 * than what is judged by them.
 */
export const ownSchemas = { ...compiledQuickly, meta: false, validateSchema: false } satisfies Options;
