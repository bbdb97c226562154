import { readText } from '../../readme.js';
import type { Call } from './programs.js';

/** One of the test vectors that ship, made once by a program that shares nothing with the gateway or the snippets. */
export interface Vector extends Call {
  about: string;
  path: string;
  parameters: Record<string, string>;
  canonical_query: string;
  signature: string;
  url: string;
}

export const vectors = JSON.parse(readText('gateway/signing/vectors.json')) as readonly Vector[];
