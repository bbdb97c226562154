import { keyId, tenantName } from './schemas.js';

const name = new RegExp(tenantName.pattern);
const id = new RegExp(keyId.pattern);

/** Whether a tenant can have this name: what cannot be one is not looked up (PostgreSQL refuses some of it). */
export function isTenantName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= tenantName.maxLength && name.test(value);
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && id.test(value);
}
