/** Numbers from 0 to 1, the same ones for the same seed (mulberry32, public domain). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A time until something that comes at random, by its mean. */
export function exponential(random: () => number, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

/** Shares of so many tenants by a Zipf law of exponent 1, the largest first; their sum is 1. */
export function zipf(tenants: number): number[] {
  const weights = Array.from({ length: tenants }, (_, at) => 1 / (at + 1));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Chooses by these shares. */
export function chooser(shares: readonly number[]): (random: () => number) => number {
  let sum = 0;
  const bounds = shares.map((share) => (sum += share));
  return (random) => {
    const at = random() * sum;
    let [low, high] = [0, bounds.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] as number) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
