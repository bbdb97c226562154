import { isIP } from 'node:net';
import { judgeAddress } from './address.js';
import { sourceFailed, sourceRefused } from './failure.js';
import type { Resolve } from './resolve.js';
import { hostOf, type Target } from './url.js';

export interface JudgeOptions {
  resolve: Resolve;
  resolveExempt: Resolve;
}

/**
 * The addresses at which a target may be reached now, in the order to try them: asked for before every request, over a kept
 * connection too. Rejects with `source_refused` if one of them is not public or there is none, `source_failed` if the name servers do not answer, or with
 * `signal`'s reason.
 */
export type Judge = (target: Target, signal: AbortSignal) => Promise<readonly string[]>;

const notLookedUp = 'The host name of the url could not be looked up.';

/** What a name server says of a name that is not there, or has no address (also the system's own look-up, of exempt origins). */
const missing = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME']);

/** Looks a name up once and judges every address that it has, unless the operator vouches for the origin. */
export function createJudge({ resolve, resolveExempt }: JudgeOptions): Judge {
  return async function judge({ url, exempt }, signal) {
    const host = hostOf(url);
    const addresses = isIP(host)
      ? [host]
      : await lookUp(exempt ? resolveExempt : resolve, { host, exempt }, signal);
    if (!exempt) for (const address of addresses) requirePublic(address);
    return addresses;
  };
}

/** Throws `source_refused` unless `address` is public. */
export function requirePublic(address: string): void {
  const verdict = judgeAddress(address);
  if (!verdict.public) throw sourceRefused(`${address}: ${verdict.reason}`);
}

/** A name that is missing is refused in the words of one that is inside: else anybody could ask which names there are inside. */
async function lookUp(
  resolve: Resolve,
  { host, exempt }: { host: string; exempt: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const addresses = await Promise.race([resolve(host, signal), aborted]);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (exempt || !missing.has(code)) throw sourceFailed(notLookedUp, error);
  }
  throw sourceRefused(`${host} has no address`);
}
