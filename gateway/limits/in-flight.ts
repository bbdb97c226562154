import type { LimitedTenant } from './tenant-limits.js';

/** Counts each tenant's pool tasks in this gateway; several gateways count each for itself. */
export interface InFlight {
  /** Takes a place and returns how to give it back (once; more often does nothing), or undefined: `tenant_busy`. */
  enter(tenant: LimitedTenant): (() => void) | undefined;
  /** Places taken by a tenant now. */
  count(tenant: string): number;
}

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  return {
    count: (tenant) => counts.get(tenant) ?? 0,
    enter({ id, limits }) {
      const before = counts.get(id) ?? 0;
      if (limits.inFlight !== null && before >= limits.inFlight) return undefined;
      counts.set(id, before + 1);
      let entered = true;
      return function leave() {
        if (!entered) return;
        entered = false;
        const rest = (counts.get(id) ?? 1) - 1;
        if (rest > 0) counts.set(id, rest);
        else counts.delete(id);
      };
    },
  };
}
