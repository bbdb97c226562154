import { isIP } from 'node:net';
import { quote } from '../../../schemas/quote.js';
import type { Audited } from './audited.js';
import { actorOf, type User } from './session.js';
import { createTries } from './tries.js';

/** How somebody came, or tried to. */
export interface Way {
  /** The client's address. */
  address: string;
  /** The identity provider's name, where it was not by password. */
  through?: string;
}

/** Who signed in, and who tried to, for the audit log. */
export interface SignInLog {
  /** Rejects where it cannot be noted: nobody is to be let in then. */
  succeeded(user: User, way: Way): Promise<void>;
  /** `tried` is the e-mail that was typed. */
  failed(tried: string | undefined, way: Way): Promise<void>;
}

/**
 * Failures that are noted singly. The throttle holds one address and one account to a few, but there are many addresses and
 * no end of invented accounts, and nothing is ever deleted from the log: so past this number the next entry says how many there
 * were, which is at most 14,400 entries a day from a gateway, 3 MB. The site's own log has a line of every one.
 */
const noted = { failures: 100, seconds: 600 };

export function createSignInLog(audited: Audited): SignInLog {
  const failures = createTries(noted.failures, noted.seconds);
  let left = 0;

  /** How many failures were left out since the last entry; they are said once. */
  async function noteWithLeft(work: (detail: { not_noted?: number }) => Promise<void>): Promise<void> {
    const said = left;
    left = 0;
    try {
      await work(said > 0 ? { not_noted: said } : {});
    } catch (error) {
      left += said;
      throw error;
    }
  }

  return {
    succeeded(user, way) {
      return noteWithLeft((detail) =>
        audited((_, note) =>
          note({ actor: actorOf(user), action: 'account.sign_in', detail: { ...detailOf(way), ...detail } }),
        ),
      );
    },
    async failed(tried, way) {
      if ((await failures.take('all')) > 0) {
        left += 1;
        return;
      }
      // Anybody can type anything: what was typed is cut, quoted, and no actor.
      const email = tried === undefined ? {} : { tried: quote(tried) };
      const { address, ...rest } = detailOf(way);
      await noteWithLeft((detail) =>
        audited((_, note) =>
          note({
            actor: `address:${address}`,
            action: 'account.sign_in_failed',
            detail: { ...email, ...rest, ...detail },
          }),
        ),
      );
    },
  };
}

/** An address from a proxy's header is whatever the proxy wrote. */
function detailOf({ address, through }: Way) {
  return { address: isIP(address) === 0 ? 'unknown' : address, ...(through !== undefined && { through }) };
}
