import { createDerivedSecrets, type DerivedSecrets } from './derived-secrets.js';

/**
 * What follows from the gateway's master secrets, so that the database alone forges nothing. Itself the secrets that urls are signed
 * with, by a key's id and its version: `hgs_` and 43 characters.
 */
export interface SigningSecrets extends DerivedSecrets {
  /** What webhooks are signed with, by a tenant's id and its version: `whsec_` and base64, as Standard Webhooks has it. */
  readonly webhooks: DerivedSecrets;
}

/** What tells them from keys. */
export const signingSecretPrefix = 'hgs_';
export const webhookSecretPrefix = 'whsec_';

/** Of `masters` the first signs urls, and all verify them; undefined where this gateway has none. */
export function createSigningSecrets(masters: readonly string[] | undefined): SigningSecrets {
  return {
    ...createDerivedSecrets(masters, {
      purpose: 'signing',
      write: (bytes) => `${signingSecretPrefix}${bytes.toString('base64url')}`,
      without: 'sign urls or verify them',
    }),
    webhooks: createDerivedSecrets(masters, {
      purpose: 'webhook',
      write: (bytes) => `${webhookSecretPrefix}${bytes.toString('base64')}`,
      without: 'sign webhooks',
    }),
  };
}
