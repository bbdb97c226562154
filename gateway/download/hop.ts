import { setImmediate } from 'node:timers/promises';
import type { CacheNamespace } from '../cache.js';
import { type Connection, type IdleConnections, loadUndici, openConnection } from './connection.js';
import type { Dial } from './dial.js';
import { type ExchangeOptions, exchange, type HopAnswer, type WholeAnswer } from './exchange.js';
import { createPolicyReader, type Policy } from './http-cache.js';
import type { LookUpAddresses } from './resolve.js';
import { sourceTooLarge, type Target } from './url.js';

/** One request of a download, for a tenant, or without one where nothing is to be kept. */
type Hop = (target: Target, tenant: string | undefined, options: ExchangeOptions) => Promise<HopAnswer>;

/**
 * Looks up and checks addresses for every request alike; only then looks for a connection that the same tenant has left open to the
 * same origin, at an address that was checked just now, and else opens one.
 */
export function createHop({
  lookUp,
  dial,
  idle,
}: {
  lookUp: LookUpAddresses;
  dial: Dial;
  idle: IdleConnections;
}): Hop {
  return async function hop(target, tenant, options) {
    const { signal } = options;
    const { url } = target;
    const owner = tenant === undefined ? undefined : { tenant, origin: url.origin };
    const addresses = await lookUp(target, signal);
    const open = owner && idle.acquire(owner, addresses);
    if (!open) return request(await connect());
    // What the server has sent unasked may not have been read yet, and would pass for the answer. The client waits for the end
    // of this iteration of the event loop before it writes; only in the next one will all sockets have been read.
    await setImmediate();
    try {
      return await request(open);
    } catch (error) {
      // A server may close an idle connection at any time, also while the request is on its way: a GET without a byte of an
      // answer is sent again, once, over a new connection.
      if (signal.aborted || open.socket.bytesRead > open.readBefore) throw error;
      return request(await connect());
    }

    async function connect(): Promise<Connection> {
      // Before there is a socket, which would stay open if this failed.
      const undici = await loadUndici();
      return openConnection(await dial(addresses, target, { owner, signal }), url.origin, undici);
    }

    async function request(connection: Connection): Promise<HopAnswer> {
      const answer = await exchange(connection, url, { ...options, keep: owner !== undefined });
      if (owner) idle.release(owner, connection);
      return answer;
    }
  };
}

/** A file that may be used again. */
export interface CachedFile {
  bytes: Uint8Array<ArrayBuffer>;
  policy: Policy;
}

interface CacheRequest {
  tenant: string;
  url: URL;
  accept: string;
  /** Bytes at most. */
  maxBytes: number;
}

/** What a file takes besides its bytes, as measured. */
const policyBytes = 2048;

/** Tenants' downloaded files, for as long as HTTP permits. `now` in milliseconds since 1970. */
export function createCachedFiles(cache: CacheNamespace<CachedFile>, now: () => number = Date.now) {
  const readPolicy = createPolicyReader(now);

  /** Whether the file is in the cache now. */
  function store(request: CacheRequest, file: CachedFile): boolean {
    const fields = Object.values(file.policy.fields).join('').length;
    // The policy holds the url, too.
    const bytes = file.bytes.byteLength + fields + request.url.href.length + policyBytes;
    return cache.set(request.tenant, cacheKey(request), file, bytes);
  }

  /** A cached file that needs no revalidation. Throws `image_too_large` where it is larger than accepted. */
  function fresh(request: CacheRequest): WholeAnswer | undefined {
    const file = cache.get(request.tenant, cacheKey(request));
    return file?.policy.isFresh() ? answerFromCache(file, 'hit', request) : undefined;
  }

  /** Puts the cache before a hop; requests without a tenant, and those that accept any status, pass. */
  function before(hop: Hop): Hop {
    return async function cachingHop(target, tenant, options) {
      if (tenant === undefined || options.anyStatus) return hop(target, tenant, options);
      const { accept, maxBytes } = options;
      const request: CacheRequest = { tenant, url: target.url, accept, maxBytes };
      const found = fresh(request);
      if (found) return found;
      const forget = () => cache.delete(tenant, cacheKey(request));
      const stale = cache.get(tenant, cacheKey(request));
      // One that is too large now may have become smaller, which only a new download can tell.
      const validators = stale && stale.bytes.byteLength <= maxBytes ? stale.policy.validators() : undefined;
      const asked = now();
      const answer = await hop(target, tenant, { ...options, validators });
      if (!('body' in answer)) {
        forget();
        return answer;
      }
      const moments = { asked, came: now() };
      if (stale && validators && answer.status === 304) {
        const renewed = stale.policy.revalidated(answer.headers, moments);
        if (renewed) {
          const file = { bytes: stale.bytes, policy: renewed.policy };
          if (!renewed.storable || !store(request, file)) forget();
          return answerFromCache(file, 'revalidated', request);
        }
        // The 304 is about another version: download the whole.
        forget();
        return cachingHop(target, tenant, options);
      }
      const policy = readPolicy(request, answer.headers, moments);
      if (policy && store(request, { bytes: answer.body, policy })) return { ...answer, cacheStatus: 'miss' };
      forget();
      return answer;
    };
  }

  return { fresh, before };
}

function answerFromCache(
  { bytes, policy }: CachedFile,
  cacheStatus: 'hit' | 'revalidated',
  { maxBytes }: CacheRequest,
): WholeAnswer {
  if (bytes.byteLength > maxBytes) throw sourceTooLarge(maxBytes);
  const type = policy.fields['content-type'];
  const headers = type === undefined ? {} : { 'content-type': type };
  return { status: 200, headers, body: bytes, cacheStatus };
}

/** All else that a request varies by is the same for all. The fragment is never sent. */
function cacheKey({ url, accept }: CacheRequest): string {
  return `${accept} ${url.href.slice(0, url.href.length - url.hash.length)}`;
}
