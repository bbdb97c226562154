import { isIP } from 'node:net';
import { quote } from '../../../schemas/quote.js';
import { withoutBrackets } from '../../http/loopback.js';

/** What a gateway is known by. */
export interface KnownAs {
  /** Where it listens: a name or an address. */
  host: string;
  /** Its address as customers see it. */
  apiUrl?: string | undefined;
  /** Origins whose pages may call it, or `*`. */
  corsOrigins: readonly string[];
}

/**
 * Why a request to agents' tools is refused by its Host and Origin; undefined where it is not. A page of another site may have
 * its own name resolve to this machine (DNS rebinding) and then calls what listens here as its own: the name in Host gives it
 * away. An address is no name, and cannot be rebound.
 */
export function hostProblem(
  { host, origin }: { host: string; origin: string },
  { host: listening, apiUrl, corsOrigins }: KnownAs,
): string | undefined {
  const names = ['localhost', listening.toLowerCase(), ...(apiUrl ? [new URL(apiUrl).hostname] : [])];
  const name = hostName(host);
  if (name === undefined || !(isAddress(name) || names.includes(name))) {
    return `The Host ${quote(host)} is not one that this gateway is known by. Whoever runs it names its public address in HELPER_API_URL.`;
  }
  if (origin === '' || corsOrigins.includes('*') || corsOrigins.includes(origin)) return undefined;
  const own = [`http://${host}`, `https://${host}`, ...(apiUrl ? [new URL(apiUrl).origin] : [])];
  if (own.includes(origin.toLowerCase())) return undefined;
  return `Pages of ${quote(origin)} may not call this gateway. Whoever runs it names those that may in HELPER_CORS_ORIGINS.`;
}

function hostName(host: string): string | undefined {
  try {
    const url = new URL(`http://${host}`);
    // Anything but a name and a port would make another url of it.
    return url.pathname === '/' && url.username === '' && !/[/?#@]/.test(host) ? url.hostname : undefined;
  } catch {
    return undefined;
  }
}

function isAddress(name: string): boolean {
  return isIP(withoutBrackets(name)) !== 0;
}
