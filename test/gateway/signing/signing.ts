import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { readText } from '../../readme.js';

/** A master secret of tests. */
export const master = 'a master secret of the tests alone'.replaceAll(' ', '-');

/** What signs urls in tests. */
export const signing = createSigningSecrets([master]);

/** One of the test vectors that ship, made once by a program that shares nothing with the gateway or the snippets. */
interface Vector {
  about: string;
  address: string;
  key_id: string;
  secret: string;
  expires: number;
  path: string;
  parameters: Record<string, string>;
  canonical_query: string;
  signature: string;
  url: string;
}

export const vectors = JSON.parse(readText('gateway/signing/vectors.json')) as readonly Vector[];
