/** Calls are counted by their milliseconds in geometric buckets, which databases and gateways add up. The last has no upper bound. */
export const bucketCount = 24;

const growth = 1.6;
const logGrowth = Math.log(growth);

/** Milliseconds up to which a bucket counts: 1 ms for the first, 31 s for the last but one. */
const boundOf = (bucket: number) => growth ** bucket;

export function bucketOf(ms: number): number {
  // Not a number is the first one, too.
  return ms > 1 ? Math.min(bucketCount - 1, Math.ceil(Math.log(ms) / logGrowth)) : 0;
}

/** The quantile `q` in milliseconds, interpolated within its bucket; null where no call was counted. */
export function quantile(buckets: readonly number[], q: number): number | null {
  const rank = q * buckets.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [bucket, count] of buckets.entries()) {
    if (count > 0 && below + count >= rank) {
      const lower = bucket === 0 ? 0 : boundOf(bucket - 1);
      const ms = lower + ((rank - below) / count) * (boundOf(bucket) - lower);
      return Math.round(ms * 10) / 10;
    }
    below += count;
  }
  return null;
}
