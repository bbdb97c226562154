import { performance } from 'node:perf_hooks';

export const monotonic = () => performance.now();

/** How often both budgets look for transfers that are too slow. */
export const tickMs = 50;

/** The most that one iteration of the event loop counts for on a `PeerClock`. */
const longestIterationMs = 100;

/** The time that a peer has had. An iteration of the event loop reads all that has come: it counts 100 ms at most. */
export class PeerClock {
  readonly #now: () => number;
  #time = 0;
  #last: number;

  constructor(now = monotonic) {
    this.#now = now;
    this.#last = now();
  }

  readonly now = (): number => this.#time + Math.min(this.#now() - this.#last, longestIterationMs);

  /** To be called from a timer, several times in 100 ms. */
  tick(): void {
    this.#time = this.now();
    this.#last = this.#now();
  }
}

export interface MinimumRateOptions {
  bytesPerSecond: number;
  /** How long a transfer may rest, at its start and after it was faster. */
  graceMs: number;
}

/**
 * A minimum rate as a leaky bucket (like Kestrel's): the grace period runs down, and each byte buys its share of a
 * second back. So neither a pause nor a slow stretch ends a transfer, and a byte now and then does not keep it alive.
 */
export class MinimumRate {
  readonly #options: MinimumRateOptions;
  #until: number;

  constructor(options: MinimumRateOptions, now: number) {
    this.#options = options;
    this.#until = now + options.graceMs;
  }

  add(bytes: number, now: number): void {
    const { bytesPerSecond, graceMs } = this.#options;
    this.#until = Math.min(this.#until + (bytes / bytesPerSecond) * 1000, now + graceMs);
  }

  /** Milliseconds left; 0 or less where the transfer is too slow. */
  left(now: number): number {
    return this.#until - now;
  }
}

/** A sum over all tenants and for each. */
export class TenantSums {
  readonly #sums = new Map<string, number>();
  /** At index n, the tenants whose sum is from 2^n to below 2^(n+1). */
  readonly #bySize: Set<string>[] = [];
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(tenant: string): number {
    return this.#sums.get(tenant) ?? 0;
  }

  /** A tenant with one of the largest sums: none has twice as much. In constant time, however many there are. */
  largest(): string | undefined {
    const [tenant] = this.#bySize.findLast((tenants) => tenants.size > 0) ?? [];
    return tenant;
  }

  /** Adds a whole `amount`, which may be negative but leaves no less than 0. */
  add(tenant: string, amount: number): void {
    const before = this.of(tenant);
    const sum = before + amount;
    this.#total += amount;
    if (sum === 0) this.#sums.delete(tenant);
    else this.#sums.set(tenant, sum);
    const [from, to] = [exponentOf(before), exponentOf(sum)];
    if (from === to) return;
    this.#bySize[from]?.delete(tenant);
    while (this.#bySize.length <= to) this.#bySize.push(new Set());
    this.#bySize[to]?.add(tenant);
  }
}

/** −1 for 0. The slower logarithm serves only numbers of more than 32 bits. */
function exponentOf(sum: number): number {
  return sum < 2 ** 32 ? 31 - Math.clz32(sum) : Math.floor(Math.log2(sum));
}

/** What one tick looks at, and what it ends: ending writes an answer or frees a connection. */
const perTick = { seen: 2000, ended: 25 };

/** Ends the transfers that are over, a part of them at each call: very many at once would block the main thread. */
export function sweepRoundRobin<T>(
  transfers: ReadonlySet<T>,
  { isOver, end }: { isOver: (transfer: T, now: number) => boolean; end: (transfer: T) => void },
): (now: number) => void {
  let rest = transfers.values();
  return function sweep(now) {
    let ended = 0;
    for (let seen = 0; seen < perTick.seen && ended < perTick.ended; seen += 1) {
      const { value, done } = rest.next();
      if (done) {
        rest = transfers.values();
        return;
      }
      if (!isOver(value, now)) continue;
      ended += 1;
      end(value);
    }
  };
}
