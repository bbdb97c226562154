import { setImmediate } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import type { CacheNamespace, CacheStatus } from '../cache.js';
import { createGrowingBuffer, type GrowingBuffer } from '../http/body.js';
import {
  type Connection,
  closeConnection,
  type Dial,
  type IdleConnections,
  loadUndici,
  openConnection,
  ownHeaders,
} from './connection.js';
import { createPolicyReader, type Policy, type Validators } from './http-cache.js';
import { type LookUpAddresses, sourceFailed, sourceTooLarge, type Target } from './url.js';

/** One request of a download, for a tenant, or without one where nothing may be cached. */
type Hop = (target: Target, tenant: string | undefined, options: ExchangeOptions) => Promise<HopAnswer>;

/** Looks up and checks addresses for every request alike, then acquires a connection at one of them or opens one. */
export function createHop(lookUp: LookUpAddresses, dial: Dial, idle: IdleConnections): Hop {
  return async function hop(target, tenant, options) {
    const { signal } = options;
    const { url } = target;
    const owner = tenant === undefined ? undefined : { tenant, origin: url.origin };
    const addresses = await lookUp(target, signal);
    const open = owner && idle.acquire(owner, addresses);
    if (!open) return request(await connect());
    // What the server sent unasked would pass for the answer: all sockets have been read only in the next iteration.
    await setImmediate();
    try {
      return await request(open);
    } catch (error) {
      // A server may close an idle connection at any time: a GET without a byte of an answer is sent again, once.
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

export interface CachedFile {
  bytes: Uint8Array<ArrayBuffer>;
  policy: Policy;
}

interface CacheRequest extends Pick<ExchangeOptions, 'accept' | 'maxBytes'> {
  tenant: string;
  url: URL;
}

/** What a file takes besides its bytes, as measured. */
const policyBytes = 2048;

/** Tenants' downloaded files, for as long as HTTP permits. `now` in milliseconds since 1970. */
export function createCachedFiles(cache: CacheNamespace<CachedFile>, now: () => number = Date.now) {
  const readPolicy = createPolicyReader(now);

  function store(request: CacheRequest, file: CachedFile): boolean {
    const fields = Object.values(file.policy.fields).join('').length;
    // The policy holds the url, too.
    const bytes = file.bytes.byteLength + fields + request.url.href.length + policyBytes;
    return cache.set(request.tenant, cacheKey(request), file, bytes);
  }

  /** A cached file that needs no revalidation. Throws `image_too_large` where it is larger than accepted. */
  function fresh(request: CacheRequest): WholeAnswer | undefined {
    const file = cache.get(request.tenant, cacheKey(request));
    return file?.policy.isFresh() ? answerFromCache(file, 'hit', request.maxBytes) : undefined;
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
      // One that is too large now may have become smaller, which only a new download shows.
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
          return answerFromCache(file, 'revalidated', maxBytes);
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
  cacheStatus: CacheStatus,
  maxBytes: number,
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

export interface ExchangeOptions {
  maxBytes: number;
  /** Accepts any status, and an empty body; else only a file with status 200 is. */
  anyStatus?: boolean | undefined;
  /** Accepts the head alone, of any status; else a redirect is followed and a body read. */
  headOnly?: boolean | undefined;
  /** Makes the request conditional: only then does a 304 mean anything. */
  validators?: Validators | undefined;
  accept: string;
  signal: AbortSignal;
  /** Trace context, for a server of the operator's own. */
  trace?: Readonly<Record<string, string>>;
  /** What earlier requests of the same download have spent besides the file. */
  framing: { bytes: number };
  post?: { body: Uint8Array; headers: Readonly<Record<string, string>> } | undefined;
  /** Called with 0 for an accepted final head, a redirect's too, then with each chunk's length. Must not throw. */
  onProgress?: ((bytes: number) => void) | undefined;
}

type HopAnswer = WholeAnswer | { location: string };

export interface WholeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array<ArrayBuffer>;
  /** Set where the bytes are in the cache, for others too: they must be neither transferred nor changed. */
  cacheStatus?: CacheStatus;
}

const maxHeaderBytes = 16 * 1024;

/** Bounds what comes besides the file, over all redirects: a chunk of one byte costs as much as one of 64 KB. */
const maxFramingBytes = 64 * 1024;
/** A file in chunks of 100 bytes, the smallest that servers make, has six bytes of framing to each. */
const fileBytesPerByte = 16;

/**
 * One request over `connection`, which is closed afterwards unless it may be reused (`keep`) and the answer came whole.
 * By the dispatch interface of undici's `Client`, since nothing below it decompresses, buffers or follows.
 */
async function exchange(
  connection: Connection,
  url: URL,
  options: ExchangeOptions & { keep: boolean },
): Promise<HopAnswer> {
  const { accept, validators, trace, signal, keep, post } = options;
  const headers = { ...ownHeaders, accept, ...validators, ...trace, ...post?.headers };
  const path = url.pathname + url.search;
  const request = { path, method: post ? 'POST' : 'GET', headers, reset: !keep, body: post?.body } as const;
  const state = { whole: false };
  connection.readBefore = Number.POSITIVE_INFINITY;
  try {
    return await new Promise<HopAnswer>((resolve, reject) => {
      signal.throwIfAborted();
      connection.client.dispatch(request, createHandler(connection, options, state, resolve, reject));
    });
  } finally {
    connection.onBytes = undefined;
    // By now all that came with the answer's last bytes has been parsed: surplus bytes have ended the connection.
    if (!keep || !state.whole) closeConnection(connection);
  }
}

function createHandler(
  connection: Connection,
  options: ExchangeOptions,
  state: { whole: boolean },
  resolve: (answer: HopAnswer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  const { signal, framing, onProgress, maxBytes, anyStatus } = options;
  const exceedsFraming = (bytes: number, fileBytes: number) =>
    framing.bytes + bytes > maxFramingBytes + fileBytes / fileBytesPerByte;
  let body: GrowingBuffer | undefined;
  let answered: Pick<WholeAnswer, 'status' | 'headers'> | undefined;
  let answeredByHead = false;
  let fileBytes = 0;
  let heads = 0;
  // An error keeps alive what its stack ran through until somebody reads it: the bytes must not hang on that.
  const end = (error: unknown) => {
    body = undefined;
    state.whole = false;
    reject(error);
  };
  signal.addEventListener('abort', () => end(signal.reason), { once: true });
  // Rejects before the abort, whose own error comes back through onResponseError and is ignored as the second.
  const stop = (controller: Dispatcher.DispatchController, error: Error) => {
    end(error);
    controller.abort(error);
  };
  return {
    onRequestStart(controller) {
      const { socket } = connection;
      const before = socket.bytesRead;
      connection.readBefore = before;
      connection.onBytes = () => {
        const parsed = socket.bytesRead - socket.readableLength - before;
        if (exceedsFraming(parsed - fileBytes, fileBytes)) stop(controller, sourceFailed(tooMuchFraming));
        if (!body && parsed - heads > maxHeaderBytes) stop(controller, sourceFailed(tooLongHead));
      };
    },
    onResponseStart(controller, status, received, statusText) {
      const bytes = headBytes(received, statusText);
      heads += bytes;
      if (status < 200) return;
      try {
        if (bytes > maxHeaderBytes) throw sourceFailed(tooLongHead);
        const head = checkHead(status, received, options);
        if (head.read) body = createGrowingBuffer(maxBytes, head.length);
        answered = { status, headers: received };
        onProgress?.(0);
        if (head.read) return;
        framing.bytes += heads;
        if (exceedsFraming(0, 0)) throw sourceFailed(tooMuchFraming);
        answeredByHead = true;
        const { location } = head;
        resolve(location === undefined ? { ...answered, body: new Uint8Array() } : { location });
        // The text that comes with a redirect is not read; a 304 has none.
        if (location !== undefined && received['content-length'] !== '0')
          controller.abort(new Error('redirected'));
      } catch (error) {
        stop(controller, error as Error);
      }
    },
    onResponseData(controller, chunk) {
      fileBytes += chunk.length;
      if (body?.add(chunk)) onProgress?.(chunk.length);
      else stop(controller, sourceTooLarge(maxBytes));
    },
    onResponseEnd() {
      state.whole = true;
      if (answeredByHead) return;
      const bytes = body?.bytes();
      if (answered && bytes && (anyStatus || bytes.length > 0)) resolve({ ...answered, body: bytes });
      else end(sourceFailed(emptyFile));
    },
    onResponseError(_controller, error) {
      end(sourceFailed('The server behind the url broke off, or does not speak HTTP/1.1.', error));
    },
  };
}

const tooLongHead = `The server behind the url sent headers of more than ${maxHeaderBytes} bytes.`;
const tooMuchFraming = 'The server behind the url sent too much besides a file: headers, or tiny chunks.';
const emptyFile = 'The server behind the url sent an empty file.';

/** What follows a head: a body (`length` in bytes if announced), a redirect, or nothing. */
type HeadOutcome = { read: true; length: number | undefined } | { read: false; location: string | undefined };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Checks status and headers of a final response. Pure; throws a `GatewayError` for one that is not accepted. */
function checkHead(
  status: number,
  headers: IncomingHttpHeaders,
  { maxBytes, anyStatus, headOnly, validators }: ExchangeOptions,
): HeadOutcome {
  if (headOnly) return { read: false, location: undefined };
  if (redirectStatuses.has(status)) return { read: false, location: locationOf(status, headers) };
  if (status === 304 && validators) return { read: false, location: undefined };
  if (status !== 200 && !anyStatus) throw sourceFailed(`The server behind the url answered ${status}.`);
  const { 'content-encoding': content, 'transfer-encoding': transfer } = headers;
  // Never decoded here: a few kilobytes may hold gigabytes.
  if (isEncoded(content, 'identity') || isEncoded(transfer, 'chunked')) {
    throw sourceFailed('The server behind the url sent its answer compressed, although asked not to.');
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (length !== undefined && !(length <= maxBytes)) throw sourceTooLarge(maxBytes);
  if (length === 0 && !anyStatus) throw sourceFailed(emptyFile);
  return { read: true, length };
}

function locationOf(status: number, { location }: IncomingHttpHeaders): string {
  if (typeof location !== 'string' || location === '') {
    throw sourceFailed(`The server behind the url answered ${status} without saying where to go.`);
  }
  // Header bytes arrive as Latin-1; what servers put there unescaped is UTF-8.
  return Buffer.from(location, 'latin1').toString('utf8');
}

/** Whether a header names a coding besides `plain`. */
function isEncoded(value: string | string[] = '', plain: string): boolean {
  const codings = String(value).split(',');
  return codings.some((coding) => !['', plain].includes(coding.trim().toLowerCase()));
}

/** Bytes of a response's head on the wire: what came with it may be body, which must not count. */
function headBytes(headers: IncomingHttpHeaders, statusText = ''): number {
  let bytes = `HTTP/1.1 200 ${statusText}\r\n\r\n`.length;
  for (const [name, values = ''] of Object.entries(headers))
    for (const value of [values].flat()) bytes += `${name}: ${value}\r\n`.length;
  return bytes;
}
