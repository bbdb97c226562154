import type { Arrivals } from './arrivals.js';

/** Counts bytes as held by a tenant's calls while anybody uses them, once however many do; what it gives ends one use, once. */
export type SharedHolds = (tenant: string, bytes: Uint8Array) => () => void;

/** Makes it of what counts bytes that are held. */
export function createSharedHolds(arrivals: Pick<Arrivals, 'hold'>): SharedHolds {
  const held = new WeakMap<Uint8Array, { users: number; letGo: () => void }>();

  return function holdShared(tenant, bytes) {
    const entry = held.get(bytes) ?? { users: 0, letGo: arrivals.hold(tenant, bytes.byteLength) };
    held.set(bytes, entry);
    entry.users += 1;
    let released = false;
    return function release() {
      if (released) return;
      released = true;
      entry.users -= 1;
      if (entry.users > 0) return;
      held.delete(bytes);
      entry.letGo();
    };
  };
}
