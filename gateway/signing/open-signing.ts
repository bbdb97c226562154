import { type MasterOptions, openMasters } from './masters.js';
import { createSigningSecrets, type SigningSecrets } from './signing-secrets.js';

/** What signs urls by this configuration; the file of the master secret is made where it is needed and missing. */
export async function openSigning(options: MasterOptions): Promise<SigningSecrets> {
  return createSigningSecrets(await openMasters(options));
}
