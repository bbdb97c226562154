import { createMemoryRate } from '../limits/counters.js';
import type { Ask, Told } from './messages.js';

/** The counts of all processes of a host, kept by the one that starts them. */
export interface Counts {
  tell(asks: readonly Ask[]): Promise<Told[]>;
}

/** As Redis would keep them: rates by window; quotas by tenant and month, put right from what a process read in the database. */
export function createCounts(): Counts {
  const rate = createMemoryRate();
  /** By month, then by name. */
  const quotas = new Map<string, Map<string, number>>();

  function monthOf(name: string): Map<string, number> {
    const month = name.slice(-'YYYY-MM'.length);
    const known = quotas.get(month);
    if (known) return known;
    const made = new Map<string, number>();
    quotas.set(month, made);
    // At a month's turn calls of the last one are still answered; of older ones nobody asks.
    const [oldest] = [...quotas.keys()].sort();
    if (quotas.size > 2 && oldest !== undefined && oldest !== month) quotas.delete(oldest);
    return made;
  }

  function tellOne(ask: Ask): Told | Promise<Told> {
    if (ask.kind === 'rate') return rate.take(ask.tenant, ask.rate, ask.burst);
    const { name, floor } = ask;
    const month = monthOf(name);
    const used = Math.max(month.get(name) ?? 0, floor);
    if (ask.kind === 'release') {
      month.set(name, used > floor ? used - 1 : used);
      return null;
    }
    const granted = used < ask.limit;
    month.set(name, granted ? used + 1 : used);
    return { granted, used: granted ? used + 1 : used };
  }

  return { tell: (asks) => Promise.all(asks.map(tellOne)) };
}
