import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { siteCookie } from './account.js';

/** Failures in `seconds`: of an account from one address or device, and from all strangers; from one address. */
type ThrottleLimits = Record<'pair' | 'account' | 'address' | 'seconds', number>;

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
 * Strangers share one budget for an account; who has signed in to it lately, by device mark or address, has another,
 * so that they cannot lock the owner out (OWASP, "Device Cookies").
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
    const name = normalize(account);
    const place = `${network} ${name}`;
    const isOwner = device !== undefined || known.has(place);
    return [
      [pairs, device === undefined ? place : `device ${device} ${name}`],
      // A device's attempts do not count for its address, which may be a proxy's that everybody shares.
      ...(device === undefined ? [[addresses, network] satisfies [AttemptBudget, string]] : []),
      [isOwner ? owners : strangers, name],
    ];
  }

  async function refundEach(consumed: [AttemptBudget, string][]): Promise<void> {
    for (const [budget, name] of consumed) await budget.refund(name);
  }

  return {
    /** Consumed before the attempt, or many at once would pass. Returns the seconds to wait, or 0. */
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
      if (account !== undefined) known.set(`${networkOf(address)} ${normalize(account)}`, true);
    },
  };
}

function normalize(account: string): string {
  return account.trim().toLowerCase();
}

/** As many counters as there can be at most in each budget. */
const bucketCount = 65_536;

/** A number of attempts for each name. */
type AttemptBudget = ReturnType<typeof createAttemptBudget>;

/**
 * Counts in memory, in a fixed number of counters, as there is no end of invented names. Keyed, or a stranger could
 * invent names that share an account's counter.
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

/** A proxy's header can hold anything in place of an address. */
export function knownAddress(address: string): string {
  return isIP(address) === 0 ? 'unknown' : address;
}

const deviceSeconds = 90 * 86_400;

/** Marks of browsers that have signed in: they open nothing, but their attempts count apart. Not stored. */
export function createDevices({
  secret,
  secureCookies,
  now,
}: {
  secret: string;
  secureCookies: boolean;
  now: () => number;
}) {
  const cookie = siteCookie('hg_device', secureCookies);

  function sign(id: string, ends: string, account: string): string {
    const text = `device\n${id}\n${ends}\n${normalize(account)}`;
    return createHmac('sha256', secret).update(text).digest('base64url');
  }

  return {
    /** The `Set-Cookie` value after a sign-in to an account. */
    remember(account: string): string {
      const id = randomBytes(16).toString('base64url');
      const ends = String(now() + deviceSeconds * 1000);
      return cookie.set(`${id}.${ends}.${sign(id, ends, account)}`, deviceSeconds);
    },
    /** The device of a request's `Cookie` header; undefined where it has not signed in to this account lately. */
    recognise(header: string, account: string): string | undefined {
      const parts = /^([\w-]{22})\.(\d{1,15})\.([\w-]{43})$/.exec(cookie.read(header) ?? '');
      const [, id = '', ends = '', signature = ''] = parts ?? [];
      if (id === '' || Number(ends) < now()) return undefined;
      const right = sign(id, ends, account);
      return timingSafeEqual(Buffer.from(signature), Buffer.from(right)) ? id : undefined;
    },
  };
}
