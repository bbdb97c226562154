import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';

/** A master secret of tests. */
export const master = 'a master secret of the tests alone'.replaceAll(' ', '-');

/** What signs urls in tests. */
export const signing = createSigningSecrets([master]);
