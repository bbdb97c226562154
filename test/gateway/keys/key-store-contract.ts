import type { KeyList, TenantList } from '../../../gateway/keys/lists.js';

export async function rejection(work: unknown): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('It should have been rejected.');
}

/** All tenants, and all keys. */
export const byName: TenantList = { sort: 'name', order: 'asc', since: '2026-01-01', limit: 1000 };
export const oldestFirst: KeyList = { sort: 'created_at', order: 'asc', state: 'all', now: 0, limit: 1000 };
