/** A tenant for whom something is due. */
export interface Due {
  tenant_id: string;
  /** Deliveries that are due. */
  waiting: number;
  /** Since when the oldest of them is. */
  oldest: number;
}

/** How tenants stand in this process. */
export interface Standing {
  /** Deliveries of a tenant that are being tried. */
  running(tenant: string): number;
  /** Which of all tries its last was; 0 where it had none. */
  lastTurn(tenant: string): number;
}

/**
 * Whose deliveries get the free places: who has fewest gets the next, among them who has had none for longest. So a tenant whose
 * receivers answer slowly, or never, holds up his own deliveries alone. Pure; `most` is of one tenant.
 */
export function choose<T extends Due>(
  due: readonly T[],
  free: number,
  most: number,
  { running, lastTurn }: Standing,
): { tenant: T; places: number }[] {
  const candidates = due.map((tenant) => ({
    tenant,
    places: 0,
    held: running(tenant.tenant_id),
    turn: lastTurn(tenant.tenant_id),
  }));
  for (let place = 0; place < free; place += 1) {
    const [next] = candidates
      .filter(({ tenant, places, held }) => places < tenant.waiting && held < most)
      .sort((a, b) => a.held - b.held || a.turn - b.turn || a.tenant.oldest - b.tenant.oldest);
    if (!next) break;
    next.places += 1;
    next.held += 1;
  }
  return candidates.filter(({ places }) => places > 0);
}
