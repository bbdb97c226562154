import { performance } from 'node:perf_hooks';

/** Milliseconds of a clock that nobody sets. */
export const monotonic = () => performance.now();

/** The most that a turn of the event loop counts for on a `PeerClock`. */
const mostOfTurnMs = 100;

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

  readonly now = (): number => this.#time + Math.min(this.#now() - this.#last, mostOfTurnMs);

  /** To be called in the event loop's timers, several times in 100 ms. */
  turn(): void {
    this.#time = this.now();
    this.#last = this.#now();
  }
}

export interface PaceOptions {
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
export class Pace {
  readonly #options: PaceOptions;
  #until: number;

  constructor(options: PaceOptions, now: number) {
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
