import { createHmac, randomBytes } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

interface ThrottleLimits {
  /** Failures of one account from one address, or from one of its own devices. */
  pair: number;
  /** Failures of one account from all unknown places; as many again from those that have signed in to it. */
  account: number;
  /** Failures from one address with any account. */
  address: number;
  /** Over this many seconds. */
  seconds: number;
}

const signInLimits: ThrottleLimits = { pair: 5, account: 50, address: 30, seconds: 600 };

export interface Attempt {
  address: string;
  /** The account's e-mail. Without one, the address alone counts. */
  account?: string | undefined;
  /** The browser's mark from an earlier sign-in to this very account, as `Devices` recognised it. */
  device?: string | undefined;
}

const maxKnownPlaces = 10_000;
const knownPlaceMs = 30 * 86_400_000;

/** Slows down guessing of passwords and links. */
export type Throttle = ReturnType<typeof createThrottle>;

/**
 * An account is guessed at from many addresses too, so strangers share one budget of it. So that they cannot lock its
 * owner out with that, whoever has signed in to it lately has a separate budget: by a browser's mark, or by address (OWASP,
 * "Slow Down Online Guessing Attacks with Device Cookies"). By a mark, what others do from the same address does not count
 * either: it may be the address of a proxy that everybody shares.
 */
export function createThrottle(limits: ThrottleLimits = signInLimits) {
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

  async function refundEach(consumed: [AttemptBudget, string][]): Promise<void> {
    for (const [budget, name] of consumed) await budget.refund(name);
  }

  return {
    /**
     * Consumes one attempt of each budget in turn, while those before allow it: a refused attempt costs nobody else anything.
     * Consumed before the attempt, so that many at once do not all pass. Returns the seconds to wait, 0 where it is allowed.
     */
    async attempt(attempt: Attempt): Promise<number> {
      const all = budgets(attempt);
      for (const [index, [budget, name]] of all.entries()) {
        const wait = await budget.consume(name);
        if (wait === 0) continue;
        await refundEach(all.slice(0, index));
        return wait;
      }
      return 0;
    },
    /** Refunds the attempt after a success, and counts this address as the account's own from then on. */
    async succeed(attempt: Attempt): Promise<void> {
      await refundEach(budgets(attempt));
      const { address, account } = attempt;
      if (account !== undefined) known.set(`${networkOf(address)} ${account.trim().toLowerCase()}`, true);
    },
  };
}

/** As many counters as there can be at most in each budget. */
const bucketCount = 65_536;

/** A number of attempts for each name. */
export type AttemptBudget = ReturnType<typeof createAttemptBudget>;

/**
 * Counts in memory, for this process: two gateways allow twice as much, which is still far too little to guess with. Names are
 * hashed into a fixed number of counters, as there is no end of invented e-mails and IPv6 addresses; with a key of this process,
 * or a stranger could invent names that share a counter with another account.
 */
export function createAttemptBudget(points: number, seconds: number) {
  const limiter = new RateLimiterMemory({ points, duration: seconds });
  const key = randomBytes(32);
  const bucket = (name: string) =>
    String(createHmac('sha256', key).update(name).digest().readUInt32BE(0) % bucketCount);

  return {
    /** Consumes one attempt; returns the seconds to wait, 0 where it is allowed. */
    async consume(name: string): Promise<number> {
      try {
        await limiter.consume(bucket(name));
        return 0;
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        // The library counts refused attempts too.
        await limiter.reward(bucket(name));
        return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      }
    },
    async refund(name: string): Promise<void> {
      await limiter.reward(bucket(name));
    },
  };
}

/** What an address counts as: one customer has a whole /64 of IPv6, so its addresses count as one. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return String(parsed);
  const parts = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${parts.join(':')}::/64`;
}
