import type { JobQueue, Lease } from '../queue/job-queue.js';

/** Leases that are kept from running out. */
export interface Leases {
  hold(lease: Lease): void;
  drop(lease: Lease): void;
  close(): void;
}

/** The part of a lease's time after which it is prolonged: what holds it may then be away for the rest. */
const part = 3;

/** Prolongs what is held, all together; one that was lost all the same is held no longer, and what is done under it may be in vain. */
export function createLeases(queue: Pick<JobQueue, 'extend' | 'leaseMs'>): Leases {
  const held = new Set<Lease>();
  const usualMs = queue.leaseMs / part;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function plan(ms: number): void {
    if (!closed) timer = setTimeout(extend, ms).unref();
  }

  async function extend(): Promise<void> {
    try {
      const lost = held.size > 0 ? await queue.extend([...held]) : [];
      for (const each of held) if (lost.some((one) => isSame(one, each))) held.delete(each);
      plan(usualMs);
    } catch {
      // That it does not answer is told by whoever waits for it.
      plan(usualMs / 10);
    }
  }

  plan(usualMs);
  return {
    hold: (lease) => void held.add(lease),
    drop: (lease) => void held.delete(lease),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function isSame(a: Lease, b: Lease): boolean {
  return a.job === b.job && a.index === b.index && a.token === b.token;
}
