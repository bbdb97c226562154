/** Buckets of waits, each 5 % longer than the one before, from 0.01 ms on. */
const [firstMs, growth, buckets] = [0.01, 1.05, 400];

/** What became of calls, and how long those waited that were served. */
export class Tally {
  arrived = 0;
  served = 0;
  refused = 0;
  lost = 0;
  waitMsSum = 0;
  cpuMs = 0;
  readonly #waits = new Uint32Array(buckets);

  serve(waitMs: number, cpuMs: number): void {
    this.served += 1;
    this.waitMsSum += waitMs;
    this.cpuMs += cpuMs;
    const bucket = waitMs <= firstMs ? 0 : Math.ceil(Math.log(waitMs / firstMs) / Math.log(growth));
    const at = Math.min(buckets - 1, bucket);
    this.#waits[at] = (this.#waits[at] as number) + 1;
  }

  /** The wait that this part of the served calls did not pass, ms. */
  waitMs(part: number): number {
    let left = this.served * part;
    for (const [at, calls] of this.#waits.entries()) {
      left -= calls;
      if (left <= 0 && this.served > 0) return at === 0 ? 0 : firstMs * growth ** at;
    }
    return 0;
  }
}
