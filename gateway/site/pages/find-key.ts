import { GatewayError } from '../../errors.js';
import { isKeyId } from '../../keys/checks.js';
import type { KeyWithSecrets } from '../../keys/model.js';
import { type KeyView, viewKey } from '../../keys/views.js';
import type { OfTenant } from '../doors.js';
import type { PageRequest } from '../page.js';

/** Where the page of a key lies. */
export const keyPath = '/tenants/:tenant/keys/:key';

/** A page of one key. */
export type KeyCall = PageRequest & OfTenant;

/** The key in the path, if it is this tenant's: another tenant's key is as good as none. */
export async function findKeyRow({ site, params, tenant }: KeyCall): Promise<KeyWithSecrets> {
  const key = isKeyId(params.key) ? await site.store.key(params.key) : undefined;
  if (key?.tenant_id !== tenant.id) throw new GatewayError('not_found');
  return key;
}

/** The same as people see it. */
export async function findKey(call: KeyCall): Promise<KeyView> {
  return viewKey(await findKeyRow(call), call.site.now());
}

/** The address of its page. */
export function hrefOf(call: KeyCall, key: Pick<KeyView, 'id'>): string {
  return `/tenants/${call.tenant.name}/keys/${key.id}`;
}
