import { LRUCache } from 'lru-cache';
import { createTries, giveBackEach, networkOf, type Tries, takeEach } from './tries.js';

export interface ThrottleLimits {
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
export interface Tryer {
  address: string;
  /** What is tried: an account's e-mail. Without one, the address alone counts. */
  account?: string | undefined;
  /** The browser's mark from an earlier sign-in to this very account, as `Devices` recognised it. */
  device?: string | undefined;
}

/** Slows down guessing of passwords and links. */
export interface Throttle {
  /** Takes one try out of the budgets. Returns the seconds to wait, 0 where the try may be made. */
  attempt(tryer: Tryer): Promise<number>;
  /** Gives the try back after a success, and knows this address for the account's own from then on. */
  succeed(tryer: Tryer): Promise<void>;
}

const mostKnown = 10_000;
const knownMs = 30 * 86_400_000;

/**
 * An account is guessed at from many addresses too, so strangers have one budget of it together; and so that they cannot lock its
 * owner out with that, who has signed in to it lately has a budget apart: by a browser's mark, or by address (OWASP, "Slow
 * Down Online Guessing Attacks with Device Cookies"). By a mark, what others do from the same address does not count
 * either: it may be the proxy's, and everybody's.
 */
export function createThrottle(limits: ThrottleLimits = signInLimits): Throttle {
  const pairs = createTries(limits.pair, limits.seconds);
  const addresses = createTries(limits.address, limits.seconds);
  const strangers = createTries(limits.account, limits.seconds);
  const owners = createTries(limits.account, limits.seconds);
  const known = new LRUCache<string, true>({ max: mostKnown, ttl: knownMs });

  function budgets({ address, account, device }: Tryer): [Tries, string][] {
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
    attempt: (tryer) => takeEach(budgets(tryer)),
    async succeed(tryer) {
      await giveBackEach(budgets(tryer));
      if (tryer.account !== undefined) {
        known.set(`${networkOf(tryer.address)} ${tryer.account.trim().toLowerCase()}`, true);
      }
    },
  };
}
