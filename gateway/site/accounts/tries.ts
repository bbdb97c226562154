import { createHmac, randomBytes } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** A budget of tries for each name. */
export interface Tries {
  /** Takes one try; returns the seconds to wait, 0 where the try may be made. */
  take(name: string): Promise<number>;
  giveBack(name: string): Promise<void>;
}

/** As many counters as there can be at most in each budget. */
const buckets = 65_536;

/**
 * Counts in memory, for this process: two gateways allow twice as much, which is still far too little to guess with. Names are
 * hashed into a fixed number of counters, as invented e-mails and addresses of IPv6 have no end; with a key of this process,
 * or a stranger could invent names that share a counter with somebody's own.
 */
export function createTries(points: number, seconds: number): Tries {
  const limiter = new RateLimiterMemory({ points, duration: seconds });
  const key = randomBytes(32);
  const bucket = (name: string) =>
    String(createHmac('sha256', key).update(name).digest().readUInt32BE(0) % buckets);

  return {
    async take(name) {
      try {
        await limiter.consume(bucket(name));
        return 0;
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        // The library counts refused tries too.
        await limiter.reward(bucket(name));
        return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      }
    },
    async giveBack(name) {
      await limiter.reward(bucket(name));
    },
  };
}

/**
 * Takes a try from each budget in turn as long as those before allow it, so that a try which is refused anyway costs nobody else
 * anything; what was taken in vain is given back. Taken before the try, so that many at once do not all pass.
 */
export async function takeEach(budgets: readonly (readonly [Tries, string])[]): Promise<number> {
  for (const [index, [tries, name]] of budgets.entries()) {
    const wait = await tries.take(name);
    if (wait === 0) continue;
    await giveBackEach(budgets.slice(0, index));
    return wait;
  }
  return 0;
}

export async function giveBackEach(budgets: readonly (readonly [Tries, string])[]): Promise<void> {
  for (const [tries, name] of budgets) await tries.giveBack(name);
}

/** What an address counts as: one customer has a whole /64 of IPv6, so its addresses count as one. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${parsed.parts.slice(0, 4).map(hexadecimal).join(':')}::/64`
    : String(parsed);
}

function hexadecimal(part: number): string {
  return part.toString(16);
}
