import { setImmediate } from 'node:timers/promises';
import type { CacheNamespace } from '../cache.js';
import { type Connection, type IdleConnections, loadUndici, openConnection } from './connection.js';
import type { Dial } from './dial.js';
import { type ExchangeOptions, exchange, type HopAnswer, type WholeAnswer } from './exchange.js';
import { createPolicyReader, type Policy } from './http-cache.js';
import type { LookUpAddresses } from './resolve.js';
import { sourceTooLarge, type Target } from './url.js';

interface HopParts {
  judge: LookUpAddresses;
  dial: Dial;
  kept: IdleConnections;
}

/** One request of a download, for a tenant or, when nothing is to be kept, for nobody. */
type Hop = (target: Target, tenant: string | undefined, options: ExchangeOptions) => Promise<HopAnswer>;

/**
 * Every request is judged alike; only then is a connection looked for that the same tenant has left open to the same origin,
 * at an address that was judged just now, or else a new one opened.
 */
export function createHop({ judge, dial, kept }: HopParts): Hop {
  return async function hop(target, tenant, options) {
    const { signal } = options;
    const { url } = target;
    const owner = tenant === undefined ? undefined : { tenant, origin: url.origin };
    const addresses = await judge(target, signal);
    const left = owner && kept.take(owner, addresses);
    if (!left) return request(await open());
    // What the server has sent unasked may not have been read yet, and would pass for the answer. The client waits for the end
    // of this turn of the event loop before it writes; only in the one after will all sockets have been read.
    await setImmediate();
    try {
      return await request(left);
    } catch (error) {
      // A server may close what waits at any time, also while the request is on its way: a GET without a byte of an answer is
      // sent again, once, over a new connection.
      if (signal.aborted || left.socket.bytesRead > left.readBefore) throw error;
      return request(await open());
    }

    async function open(): Promise<Connection> {
      // Before there is a socket, which would be left open where this fails.
      const undici = await loadUndici();
      return openConnection(await dial(addresses, target, { owner, signal }), url.origin, undici);
    }

    async function request(connection: Connection): Promise<HopAnswer> {
      const answer = await exchange(connection, url, { ...options, keep: owner !== undefined });
      if (owner) kept.give(owner, connection);
      return answer;
    }
  };
}

/** A file that may be used again. */
export interface CachedFile {
  bytes: Uint8Array<ArrayBuffer>;
  policy: Policy;
}

/** Whose file it is, and which. */
interface CacheRequest {
  tenant: string;
  url: URL;
  accept: string;
  /** Bytes that are taken at most. */
  maxBytes: number;
}

/** Files that were downloaded, for as long as HTTP permits. */
interface CachedFiles {
  /** A file that is there and holds without a word to its server. Throws `image_too_large` where it is larger than wanted. */
  fresh(wish: CacheRequest): WholeAnswer | undefined;
  /** Puts itself before the requests of downloads: those of nobody, and those that take any status, pass. */
  before(hop: Hop): Hop;
}

/** What a file takes besides its bytes, as it was measured. */
const policyBytes = 2048;

/** `now` in milliseconds since 1970. */
export function createCachedFiles(
  shelf: CacheNamespace<CachedFile>,
  now: () => number = Date.now,
): CachedFiles {
  const judge = createPolicyReader(now);

  function keep(wish: CacheRequest, file: CachedFile): boolean {
    const said = Object.values(file.policy.said).join('').length;
    // The url stands in what was asked, too.
    const bytes = file.bytes.byteLength + said + wish.url.href.length + policyBytes;
    return shelf.set(wish.tenant, cacheKey(wish), file, bytes);
  }

  function fresh(wish: CacheRequest): WholeAnswer | undefined {
    const file = shelf.get(wish.tenant, cacheKey(wish));
    return file?.policy.isFresh() ? answerFromCache(file, 'hit', wish) : undefined;
  }

  return {
    fresh,
    before(hop) {
      return async function keepingHop(target, tenant, options) {
        if (tenant === undefined || options.anyStatus) return hop(target, tenant, options);
        const wish: CacheRequest = {
          tenant,
          url: target.url,
          accept: options.accept,
          maxBytes: options.maxBytes,
        };
        const found = fresh(wish);
        if (found) return found;
        const stale = shelf.get(tenant, cacheKey(wish));
        // One that is too large now may have become smaller, which only a new download can tell.
        const validators =
          stale && stale.bytes.byteLength <= wish.maxBytes ? stale.policy.validators() : undefined;
        const asked = now();
        const answer = await hop(target, tenant, { ...options, validators });
        if (stale && validators && 'body' in answer && answer.status === 304) {
          const renewed = stale.policy.renewed(answer.headers, { asked, came: now() });
          if (renewed) {
            const file = { bytes: stale.bytes, policy: renewed.policy };
            if (!renewed.keep || !keep(wish, file)) shelf.delete(tenant, cacheKey(wish));
            return answerFromCache(file, 'revalidated', wish);
          }
          // Said of something else than what is here: the whole is asked for.
          shelf.delete(tenant, cacheKey(wish));
          return keepingHop(target, tenant, options);
        }
        if (!('body' in answer)) {
          shelf.delete(tenant, cacheKey(wish));
          return answer;
        }
        const policy = judge(wish, answer.headers, { asked, came: now() });
        if (policy && keep(wish, { bytes: answer.body, policy })) return { ...answer, kept: 'miss' };
        shelf.delete(tenant, cacheKey(wish));
        return answer;
      };
    },
  };
}

function answerFromCache(
  { bytes, policy }: CachedFile,
  kept: 'hit' | 'revalidated',
  { maxBytes }: CacheRequest,
): WholeAnswer {
  if (bytes.byteLength > maxBytes) throw sourceTooLarge(maxBytes);
  const type = policy.said['content-type'];
  return { status: 200, headers: type === undefined ? {} : { 'content-type': type }, body: bytes, kept };
}

/** What a request varies by besides these is the same for all. The fragment goes nowhere. */
function cacheKey({ url, accept }: CacheRequest): string {
  return `${accept} ${url.href.slice(0, url.href.length - url.hash.length)}`;
}
