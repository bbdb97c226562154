import { hash } from 'node:crypto';

/**
 * What the database keeps of a secret that was drawn at random (a key, an invitation, a session): its SHA-256, 64 hexadecimal
 * digits. No salt and no slow hash: those are for secrets that can be guessed, and 128 random bits and more cannot.
 */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
