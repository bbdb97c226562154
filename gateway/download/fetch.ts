import { type CacheNamespace, createCache } from '../cache.js';
import { GatewayError } from '../errors.js';
import type { Step, Trace } from '../observability/tracing.js';
import { createIdleConnections } from './connection.js';
import { createDial, type DialOptions } from './dial.js';
import {
  type CachedFile,
  createCachedFiles,
  createFraming,
  createHop,
  type WholeAnswer,
} from './exchange.js';
import {
  type AddressLookupOptions,
  checkUrl,
  createAddressLookup,
  parseExemptOrigins,
  parseSourceUrl,
  sourceFailed,
  sourceRefused,
  type Target,
} from './url.js';

export interface GuardOptions extends DialOptions, AddressLookupOptions {
  /** Exempt origins, `scheme://host[:port]` each. */
  origins?: readonly string[];
  /** Milliseconds for a whole download, redirects and all, or for a message up to the head of its answer. */
  timeoutMs: number;
}

export interface SourceOptions extends GuardOptions {
  /** Bytes of a file at most. */
  maxBytes: number;
  /** Where tenants' files are cached for as long as HTTP permits; nowhere by default. */
  cache?: CacheNamespace<CachedFile>;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
}

/** A url that passed all checks without I/O. */
export interface CheckedUrl {
  readonly href: string;
}

/**
 * Checks a url without any I/O, so that a dry run can do it too. Throws a `GatewayError`: `invalid_input` on `field`, the parameter
 * that held it (`url`), for what is not a url, `source_refused` for one that may not be fetched.
 */
type Check = (raw: string, field?: string) => CheckedUrl;

export interface FetchOptions {
  /**
   * Whose download it is: open connections are kept for the same tenant's next ones, and files where HTTP permits. Without it each
   * connection serves one request, and nothing is kept.
   */
  tenant?: string | undefined;
  /** Ends the download at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
  /**
   * Called with 0 for an accepted final head, a redirect's too, then with the length of each chunk of the file. It ends a download by
   * `signal` and must not throw.
   */
  onProgress?: ((bytes: number) => void) | undefined;
  trace?: Pick<Trace, 'part'> | undefined;
  /** The `Accept` header, `image/*` where absent. */
  accept?: string | undefined;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes?: number | undefined;
  /** Accepts an answer of any status, and an empty one; else only a file with status 200. */
  anyStatus?: boolean;
}

/** Downloads from urls that strangers send. */
export interface Source {
  check: Check;
  /** The tenant's cached file at a url where it needs no revalidation; throws as `check` and `fetch` do. */
  cached(checked: CheckedUrl, options: FetchOptions): WholeAnswer | undefined;
  /**
   * Downloads. The answer's bytes are alone in their ArrayBuffer and may be transferred, unless it has a `cacheStatus`. Rejects with a
   * `GatewayError` (`source_refused`, `source_failed`, `source_timeout`, `image_too_large`, `shutting_down`) or, when `signal` is
   * aborted, with its reason; the connection is closed by then.
   */
  fetch(checked: CheckedUrl, options?: FetchOptions): Promise<WholeAnswer>;
  /** Ends every download with `shutting_down` and every connection, and resolves when all have ended. */
  close(): Promise<void>;
}

const maxRedirects = 3;

/** The guard between a stranger's url and the network. */
function createGuard(options: GuardOptions) {
  const origins = parseExemptOrigins(options.origins ?? []);
  const idle = createIdleConnections();
  const check: Check = (raw, field) => Object.freeze({ href: checkUrl(raw, origins, field).url.href });
  return {
    origins,
    check,
    /** Checked again: what dials must not depend on who called `check`, or how long ago. */
    targetOf: ({ href }: CheckedUrl) => checkUrl(href, origins),
    idle,
    hop: createHop({ lookUp: createAddressLookup(options), dial: createDial(options), idle }),
    deadlines: createDeadlines(options.timeoutMs),
  };
}

/**
 * The guarded download. A redirect's target is checked whole, as if the user had sent it: so a public server may redirect to an
 * exempt origin (the user may name that one directly) and to nothing else that is inside.
 */
export function createSource(options: SourceOptions): Source {
  const { origins, check, targetOf, idle, deadlines, ...guard } = createGuard(options);
  const files = createCachedFiles(options.cache ?? createCache(0).namespace('source'), options.now);
  const hop = files.before(guard.hop);

  function checkRedirect(location: string, from: URL): Target {
    const verdict = parseSourceUrl(location, origins, from);
    if (verdict.ok) return verdict;
    if (verdict.kind === 'refused') throw sourceRefused(`redirect: ${verdict.problem}`);
    // The server's fault, not the caller's: the problem names the Location, never a parameter.
    throw sourceFailed(
      `The server behind the url redirects to what cannot be followed: its Location ${verdict.problem}.`,
    );
  }

  function limitsOf({ accept = 'image/*', maxBytes = options.maxBytes }: FetchOptions) {
    return { accept, maxBytes: Math.min(maxBytes, options.maxBytes) };
  }

  async function download(
    first: Target,
    signal: AbortSignal,
    fetchOptions: FetchOptions,
    step: Step | undefined,
  ): Promise<WholeAnswer> {
    const { tenant, onProgress, anyStatus } = fetchOptions;
    const request = { ...limitsOf(fetchOptions), anyStatus, signal, framing: createFraming(), onProgress };
    let target = first;
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      // Trace context goes to the operator's own servers alone.
      const traced = step && target.exempt ? { ...request, trace: step.headers() } : request;
      const answer = await hop(target, tenant, traced);
      if ('body' in answer) return answer;
      target = checkRedirect(answer.location, target.url);
    }
    throw sourceFailed(`The server behind the url redirects more than ${maxRedirects} times.`);
  }

  return {
    check,
    cached(checked, options) {
      const { url } = targetOf(checked);
      const { tenant, anyStatus } = options;
      if (tenant === undefined || anyStatus) return undefined;
      return files.fresh({ tenant, url, ...limitsOf(options) });
    },
    async fetch(checked, options = {}) {
      const target = targetOf(checked);
      const step = options.trace?.part('download', { outgoing: true });
      try {
        const answer = await deadlines.within(options.signal, (signal) =>
          download(target, signal, options, step),
        );
        step?.set({
          'http.response.status_code': answer.status,
          'http.response.body.size': answer.body.byteLength,
        });
        step?.end();
        return answer;
      } catch (error) {
        step?.end(error);
        throw error;
      }
    },
    async close() {
      const ended = deadlines.close();
      idle.close();
      await ended;
    },
  };
}

export interface PostMessage {
  body: Uint8Array;
  headers: Readonly<Record<string, string>>;
  /** Ends it at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/** Sends bytes to urls that strangers send. */
export interface Post {
  readonly timeoutMs: number;
  check: Check;
  /**
   * Sends a message once, to the url and nowhere else, and resolves with the head of the answer, whatever its status. Rejects as
   * `Source.fetch` does; what the receiver has by then is unknown.
   */
  send(checked: CheckedUrl, message: PostMessage): Promise<Pick<WholeAnswer, 'status' | 'headers'>>;
  /** Ends all messages with `shutting_down`, and resolves when all have ended. */
  close(): Promise<void>;
}

/**
 * The guard of downloads for outgoing messages. A redirect is an answer like any other: following it would send to a place that
 * nobody named. The answer's body is not read, so no receiver can hold a message up by it.
 */
export function createPost(options: GuardOptions): Post {
  const { timeoutMs } = options;
  const { check, targetOf, hop, deadlines } = createGuard(options);

  return {
    timeoutMs,
    check,
    send: (checked, { body, headers, signal: caller }) =>
      deadlines.within(caller, async (signal) => {
        const target = targetOf(checked);
        const request = { accept: '*/*', maxBytes: 0, headOnly: true, signal, framing: createFraming() };
        // Without a tenant: an idle connection may break under a request, and this one must not be sent twice.
        const answer = await hop(target, undefined, { ...request, post: { body, headers } });
        // `headOnly` never leads elsewhere.
        const { status, headers: received } = answer as WholeAnswer;
        return { status, headers: received };
      }),
    close: deadlines.close,
  };
}

/** The clock runs in so many parts: a busy thread's delay of one must not count against the server. */
const clockParts = 10;

/**
 * One clock for each whole download: name resolution, connection, TLS, headers, body and every redirect. A time-out per read
 * would be reset for ever by a server that sends a byte now and then.
 */
function createDeadlines(timeoutMs: number) {
  const controllers = new Set<AbortController>();
  const running = new Set<Promise<unknown>>();
  let closed = false;

  async function run<T>(
    caller: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const onCaller = () => controller.abort(caller?.reason);
    let left = clockParts;
    const timer = setTimeout(() => {
      left -= 1;
      if (left > 0) timer.refresh();
      else {
        const cause = new Error(`not done after ${timeoutMs} ms`);
        controller.abort(new GatewayError('source_timeout', { cause }));
      }
    }, timeoutMs / clockParts);
    controllers.add(controller);
    if (caller?.aborted) onCaller();
    else caller?.addEventListener('abort', onCaller, { once: true });
    if (closed) controller.abort(new GatewayError('shutting_down'));
    try {
      return await work(signal);
    } catch (error) {
      // An abort surfaces as whatever it broke; its reason is the truth.
      throw signal.aborted ? signal.reason : error;
    } finally {
      controllers.delete(controller);
      clearTimeout(timer);
      caller?.removeEventListener('abort', onCaller);
    }
  }

  return {
    /** Aborts work by the deadline with `source_timeout`, by the caller's signal, or by `close`; rejects with that reason. */
    within<T>(caller: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const result = run(caller, work);
      const settled: Promise<unknown> = result.catch(() => {}).finally(() => running.delete(settled));
      running.add(settled);
      return result;
    },
    /** Aborts all with `shutting_down`, and whatever begins later; resolves when all have ended. */
    async close(): Promise<void> {
      closed = true;
      for (const controller of controllers) controller.abort(new GatewayError('shutting_down'));
      await Promise.all(running);
    },
  };
}
