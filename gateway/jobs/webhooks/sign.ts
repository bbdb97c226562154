import { createHmac } from 'node:crypto';
import { webhookGraceMs } from '../../keys/tenant-changes.js';
import { type DerivedSecrets, webhookSecretPrefix } from '../../signing/signing-secrets.js';

/** What is signed: the id, whole seconds since 1970, and the body to the byte. */
export interface Signable {
  id: string;
  timestamp: number;
  body: string;
}

/** `v1,…` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, by the bytes that a `whsec_…` stands for. */
export function sign({ id, timestamp, body }: Signable, secret: string): string {
  const key = Buffer.from(secret.slice(webhookSecretPrefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Which secret a tenant is at, and since when. */
export interface SecretVersion {
  webhook_version: number;
  webhook_rotated_at: number | null;
}

/**
 * All that a message is signed with: one for each master secret, and for a day after a rotation those of the version before, so that
 * receivers change over when it suits them. Throws where there is no master secret.
 */
export function secretsOf(
  secrets: DerivedSecrets,
  tenant: string,
  { webhook_version: version, webhook_rotated_at: rotatedAt }: SecretVersion,
  now: number,
): readonly string[] {
  const current = secrets.all(tenant, version);
  const inGrace = rotatedAt !== null && now - rotatedAt < webhookGraceMs;
  return inGrace ? [...current, ...secrets.all(tenant, version - 1)] : current;
}
