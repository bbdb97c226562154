import { createHmac, randomBytes } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

interface ThrottleLimits {
  /** Failures of one account from one address, or from one of its own devices. */
  pair: number;
  /** Failures of one account from all places that are strange to it; as many again from those that it knows. */
  account: number;
  /** Failures from one address with any account. */
  address: number;
  /** Over this many seconds. */
  seconds: number;
}

const signInLimits: ThrottleLimits = { pair: 5, account: 50, address: 30, seconds: 600 };

/** Who tries. */
export interface Attempt {
  address: string;
  /** What is tried: an account's e-mail. Without one, the address alone counts. */
  account?: string | undefined;
  /** The browser's mark from an earlier sign-in to this very account, as `Devices` recognised it. */
  device?: string | undefined;
}

/** Slows down guessing of passwords and links. */
export interface Throttle {
  /** Takes one try out of the budgets. Returns the seconds to wait, 0 where the try may be made. */
  attempt(tryer: Attempt): Promise<number>;
  /** Gives the try back after a success, and knows this address for the account's own from then on. */
  succeed(tryer: Attempt): Promise<void>;
}

const maxKnownPlaces = 10_000;
const knownPlaceMs = 30 * 86_400_000;

/**
 * An account is guessed at from many addresses too, so strangers have one budget of it together; and so that they cannot lock its
 * owner out with that, who has signed in to it lately has a budget apart: by a browser's mark, or by address (OWASP, "Slow
 * Down Online Guessing Attacks with Device Cookies"). By a mark, what others do from the same address does not count
 * either: it may be the proxy's, and everybody's.
 */
export function createThrottle(limits: ThrottleLimits = signInLimits): Throttle {
  const pairs = createAttemptBudget(limits.pair, limits.seconds);
  const addresses = createAttemptBudget(limits.address, limits.seconds);
  const strangers = createAttemptBudget(limits.account, limits.seconds);
  const owners = createAttemptBudget(limits.account, limits.seconds);
  const known = new LRUCache<string, true>({ max: maxKnownPlaces, ttl: knownPlaceMs });

  function budgets({ address, account, device }: Attempt): [AttemptBudget, string][] {
    const network = networkOf(address);
    if (account === undefined) return [[addresses, network]];
    const name = account.trim().toLowerCase();
    if (device !== undefined) {
      return [
        [pairs, `device ${device} ${name}`],
        [owners, name],
      ];
    }
    const place = `${network} ${name}`;
    return [
      [pairs, place],
      [addresses, network],
      [known.has(place) ? owners : strangers, name],
    ];
  }

  return {
    attempt: (tryer) => consumeEach(budgets(tryer)),
    async succeed(tryer) {
      await refundEach(budgets(tryer));
      if (tryer.account !== undefined) {
        known.set(`${networkOf(tryer.address)} ${tryer.account.trim().toLowerCase()}`, true);
      }
    },
  };
}

/** A budget of tries for each name. */
export interface AttemptBudget {
  /** Takes one try; returns the seconds to wait, 0 where the try may be made. */
  take(name: string): Promise<number>;
  giveBack(name: string): Promise<void>;
}

/** As many counters as there can be at most in each budget. */
const bucketCount = 65_536;

/**
 * Counts in memory, for this process: two gateways allow twice as much, which is still far too little to guess with. Names are
 * hashed into a fixed number of counters, as invented e-mails and addresses of IPv6 have no end; with a key of this process,
 * or a stranger could invent names that share a counter with somebody's own.
 */
export function createAttemptBudget(points: number, seconds: number): AttemptBudget {
  const limiter = new RateLimiterMemory({ points, duration: seconds });
  const key = randomBytes(32);
  const bucket = (name: string) =>
    String(createHmac('sha256', key).update(name).digest().readUInt32BE(0) % bucketCount);

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
async function consumeEach(budgets: readonly (readonly [AttemptBudget, string])[]): Promise<number> {
  for (const [index, [tries, name]] of budgets.entries()) {
    const wait = await tries.take(name);
    if (wait === 0) continue;
    await refundEach(budgets.slice(0, index));
    return wait;
  }
  return 0;
}

async function refundEach(budgets: readonly (readonly [AttemptBudget, string])[]): Promise<void> {
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
