import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface ThrottleLimits {
  /** Failures of one account from one address. */
  pair: number;
  /** Failures of one account from anywhere: more, so that a stranger cannot easily lock its owner out. */
  account: number;
  /** Failures from one address with any account. */
  address: number;
  /** Over this many seconds. */
  seconds: number;
}

const SIGN_IN_LIMITS: ThrottleLimits = { pair: 5, account: 50, address: 30, seconds: 600 };

/** Slows down guessing of passwords and links. */
export interface Throttle {
  /**
   * Takes one try out of the budget of an account and of an address; without an account, of the address alone. Returns the
   * seconds to wait, 0 where the try may be made. Taken before the try, so that many at once do not all pass.
   */
  attempt(address: string, account?: string): Promise<number>;
  /** Gives the try back after a success. */
  succeed(address: string, account?: string): Promise<void>;
}

/** As many counters as there can be at most in each of the three: 65,536. */
const BUCKETS = 65_536;

/**
 * Counts in memory, for this process: two gateways allow twice as much, which is still far too little to guess with. What is
 * counted is hashed into a fixed number of counters, as invented e-mails and addresses of IPv6 have no end.
 */
export function createThrottle(limits: ThrottleLimits = SIGN_IN_LIMITS): Throttle {
  const limiter = (points: number, keyPrefix: string) =>
    new RateLimiterMemory({ points, duration: limits.seconds, keyPrefix });
  const pairs = limiter(limits.pair, 'pair');
  const accounts = limiter(limits.account, 'account');
  const addresses = limiter(limits.address, 'address');

  function counters(address: string, account: string | undefined): [RateLimiterMemory, string][] {
    const network = networkOf(address);
    const counted: [RateLimiterMemory, string][] = [[addresses, bucket(network)]];
    if (account === undefined) return counted;
    const name = account.trim().toLowerCase();
    return [...counted, [pairs, bucket(`${network}\n${name}`)], [accounts, bucket(name)]];
  }

  return {
    async attempt(address, account) {
      let wait = 0;
      for (const [counter, key] of counters(address, account)) {
        wait = Math.max(wait, await secondsToWait(counter, key));
      }
      return wait;
    },
    async succeed(address, account) {
      for (const [counter, key] of counters(address, account)) await counter.reward(key);
    },
  };
}

async function secondsToWait(counter: RateLimiterMemory, key: string): Promise<number> {
  try {
    await counter.consume(key);
    return 0;
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
  }
}

function bucket(text: string): string {
  return String(createHash('sha256').update(text).digest().readUInt32BE(0) % BUCKETS);
}

/** One customer has a whole /64 of IPv6, so its addresses count as one. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith('::ffff:')) return address.slice(7);
  const [head = '', tail = ''] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail.split(':').filter(Boolean);
  const zeros = address.includes('::') ? Array<string>(8 - left.length - right.length).fill('0') : [];
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
