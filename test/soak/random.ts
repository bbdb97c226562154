/** Chance that can be had again: the same seed gives the same attack. */
export interface Random {
  seed: number;
  /** A whole number from 0 up to but not including `limit`. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Mulberry32: small, fast and even enough to choose mutations. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function below(limit: number): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  }
  return { seed, below, pick: <T>(list: readonly T[]) => list[below(list.length)] as T };
}
