import { performance } from 'node:perf_hooks';

/** Milliseconds of a clock that nobody sets. */
export const monotonic = () => performance.now();

/** The most that a turn of the event loop counts for on a `PeerClock`. */
const longestIterationMs = 100;

/**
 * The time that the other side of a transfer has had. Of a turn of the event loop in which this thread was too busy to read or write it
 * counts no more than 100 ms: each turn reads all that has come, so a peer that sends is heard in each, however long they are.
 */
export class PeerClock {
  readonly #now: () => number;
  #time = 0;
  #last: number;

  constructor(now = monotonic) {
    this.#now = now;
    this.#last = now();
  }

  readonly now = (): number => this.#time + Math.min(this.#now() - this.#last, longestIterationMs);

  /** To be called in the event loop's timers, several times in 100 ms. */
  turn(): void {
    this.#time = this.now();
    this.#last = this.#now();
  }
}

export interface MinimumRateOptions {
  /** What a transfer has to keep up over time. */
  bytesPerSecond: number;
  /** How long it may rest, at its beginning and after it was faster. */
  patienceMs: number;
}

/**
 * How much longer one waits for a transfer: its patience runs down with the clock, and each byte buys its share of a second
 * back, never beyond the whole. So neither a pause nor a slow stretch ends it, and a byte now and then does not keep it alive
 * (a leaky bucket; Kestrel's minimum data rates with their grace period are the same idea). Own code
 * because packages for rates slow a transfer down, and none says that it is too slow.
 */
export class MinimumRate {
  readonly #options: MinimumRateOptions;
  #until: number;

  constructor(options: MinimumRateOptions, now: number) {
    this.#options = options;
    this.#until = now + options.patienceMs;
  }

  /** Counts bytes that came or went. */
  add(bytes: number, now: number): void {
    const { bytesPerSecond, patienceMs } = this.#options;
    this.#until = Math.min(this.#until + (bytes / bytesPerSecond) * 1000, now + patienceMs);
  }

  /** Milliseconds of patience left; 0 or less where the transfer is too slow. */
  left(now: number): number {
    return this.#until - now;
  }
}

/** A sum, in all and for each tenant that has any of it. */
export class TenantSums {
  readonly #sums = new Map<string, number>();
  /** At each place the tenants whose sum is 2 to the power of it, or up to twice that. */
  readonly #alike: Set<string>[] = [];
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(tenant: string): number {
    return this.#sums.get(tenant) ?? 0;
  }

  /**
   * One of the tenants with most of it: none has twice as much. Undefined where nobody has any. Takes as long for one tenant as for
   * ten thousand, which who is refused must not pay for.
   */
  largest(): string | undefined {
    const [tenant] = this.#alike.findLast((tenants) => tenants.size > 0) ?? [];
    return tenant;
  }

  /** Adds whole `amount`, which may be negative but leaves no less than 0. */
  add(tenant: string, amount: number): void {
    const before = this.of(tenant);
    const sum = before + amount;
    this.#total += amount;
    if (sum === 0) this.#sums.delete(tenant);
    else this.#sums.set(tenant, sum);
    const [from, to] = [powerOf(before), powerOf(sum)];
    if (from === to) return;
    this.#alike[from]?.delete(tenant);
    while (this.#alike.length <= to) this.#alike.push(new Set());
    this.#alike[to]?.add(tenant);
  }
}

/** −1 for nothing. The logarithm, which takes longer, only for what has more than 32 bits. */
function powerOf(sum: number): number {
  return sum < 2 ** 32 ? 31 - Math.clz32(sum) : Math.floor(Math.log2(sum));
}

/** What is looked at in a tick, and what is ended in one: an ending writes an answer or frees a connection. */
const perTick = { seen: 2000, ended: 25 };

interface SweepOptions<T> {
  isOver: (thing: T, now: number) => boolean;
  end: (thing: T) => void;
}

/**
 * Goes round things of which some may have to end, a part of them at each tick: to look at all of very many would hold the main
 * thread, and those that began together are over together. Gives what is to be called at each tick.
 */
export function sweepRoundRobin<T>(
  things: ReadonlySet<T>,
  { isOver, end }: SweepOptions<T>,
): (now: number) => void {
  let rest = things.values();
  return function lookAtSome(now) {
    let ended = 0;
    for (let seen = 0; seen < perTick.seen && ended < perTick.ended; seen += 1) {
      const { value, done } = rest.next();
      if (done) {
        rest = things.values();
        return;
      }
      if (!isOver(value, now)) continue;
      ended += 1;
      end(value);
    }
  };
}
