import { type CacheNamespace, createCache } from '../cache.js';
import { GatewayError } from '../errors.js';
import type { Step, Trace } from '../observability/tracing.js';
import { createDial, createIdleConnections, type DialOptions } from './connection.js';
import {
  type CachedFile,
  createCachedFiles,
  createHop,
  type ExchangeOptions,
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
  origins?: readonly string[];
  /** Milliseconds for a whole download, redirects and all, or for a message up to the head of its answer. */
  timeoutMs: number;
}

export interface SourceOptions extends GuardOptions {
  maxBytes: number;
  /** Where tenants' files are cached for as long as HTTP permits; nowhere by default. */
  cache?: CacheNamespace<CachedFile>;
  now?: () => number;
}

/** A url that passed all checks without I/O. */
export interface CheckedUrl {
  readonly href: string;
}

export interface FetchOptions extends Pick<ExchangeOptions, 'anyStatus' | 'onProgress'> {
  /** Whose open connections and cached files may be used, and are left; without it none are. */
  tenant?: string | undefined;
  signal?: AbortSignal | undefined;
  trace?: Pick<Trace, 'part'> | undefined;
  /** The `Accept` header, `image/*` where absent. */
  accept?: string | undefined;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes?: number | undefined;
}

/** Downloads from urls that strangers send. */
export type Source = ReturnType<typeof createSource>;

const maxRedirects = 3;

/** The guard between a stranger's url and the network. */
function createGuard(options: GuardOptions) {
  const origins = parseExemptOrigins(options.origins ?? []);
  const idle = createIdleConnections();
  return {
    origins,
    /** Checks a url without any I/O. Throws `invalid_input` on `field` for what is no url, or `source_refused`. */
    check: (raw: string, field?: string): CheckedUrl =>
      Object.freeze({ href: checkUrl(raw, origins, field).url.href }),
    /** Checked again: what dials must not depend on who called `check`, or how long ago. */
    targetOf: ({ href }: CheckedUrl) => checkUrl(href, origins),
    idle,
    hop: createHop(createAddressLookup(options), createDial(options), idle),
    deadlines: createDeadlines(options.timeoutMs),
  };
}

/** The guarded download. A redirect is checked like a user's url: it may lead to an exempt origin, never inside. */
export function createSource(options: SourceOptions) {
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
    const request = { ...limitsOf(fetchOptions), anyStatus, signal, framing: { bytes: 0 }, onProgress };
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
    /** The tenant's cached file at a url where it needs no revalidation; throws as `check` and `fetch` do. */
    cached(checked: CheckedUrl, options: FetchOptions): WholeAnswer | undefined {
      const { url } = targetOf(checked);
      const { tenant, anyStatus } = options;
      if (tenant === undefined || anyStatus) return undefined;
      return files.fresh({ tenant, url, ...limitsOf(options) });
    },
    /** Bytes without `cacheStatus` may be transferred. Rejects with a `GatewayError` or its signal's reason. */
    async fetch(checked: CheckedUrl, options: FetchOptions = {}): Promise<WholeAnswer> {
      const target = targetOf(checked);
      const step = options.trace?.part('download', { outgoing: true });
      try {
        const answer = await deadlines.within(options.signal, (signal) =>
          download(target, signal, options, step),
        );
        const { status, body } = answer;
        step?.set({ 'http.response.status_code': status, 'http.response.body.size': body.byteLength });
        step?.end();
        return answer;
      } catch (error) {
        step?.end(error);
        throw error;
      }
    },
    /** Ends every download with `shutting_down` and every connection, and resolves when all have ended. */
    async close(): Promise<void> {
      const ended = deadlines.close();
      idle.close();
      await ended;
    },
  };
}

interface PostMessage extends Pick<FetchOptions, 'signal'> {
  body: Uint8Array;
  headers: Readonly<Record<string, string>>;
}

/** Sends bytes to urls that strangers send. */
export type Post = ReturnType<typeof createPost>;

/** The guard for outgoing messages. No redirect is followed, and no answer's body read: it could hold a message up. */
export function createPost(options: GuardOptions) {
  const { timeoutMs } = options;
  const { check, targetOf, hop, deadlines } = createGuard(options);

  return {
    timeoutMs,
    check,
    /** Sends a message once; resolves with the answer's head, whatever its status. Rejects as `Source.fetch` does. */
    send: (checked: CheckedUrl, { body, headers, signal: caller }: PostMessage) =>
      deadlines.within(caller, async (signal): Promise<Pick<WholeAnswer, 'status' | 'headers'>> => {
        const target = targetOf(checked);
        const request = { accept: '*/*', maxBytes: 0, headOnly: true, signal, framing: { bytes: 0 } };
        // Without a tenant: an idle connection may break under a request, and this one must not be sent twice.
        return (await hop(target, undefined, { ...request, post: { body, headers } })) as WholeAnswer;
      }),
    close: deadlines.close,
  };
}

/** The clock runs in so many parts: a busy thread's delay of one must not count against the server. */
const clockParts = 10;

/** One clock for each whole download: a byte now and then would reset a time-out per read for ever. */
function createDeadlines(timeoutMs: number) {
  const running = new Map<AbortController, Promise<unknown>>();
  let closed = false;

  async function run<T>(
    controller: AbortController,
    caller: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal } = controller;
    const onCaller = () => controller.abort(caller?.reason);
    let left = clockParts;
    const timer = setTimeout(() => {
      left -= 1;
      if (left > 0) return void timer.refresh();
      const cause = new Error(`not done after ${timeoutMs} ms`);
      controller.abort(new GatewayError('source_timeout', { cause }));
    }, timeoutMs / clockParts);
    if (caller?.aborted) onCaller();
    else caller?.addEventListener('abort', onCaller, { once: true });
    if (closed) controller.abort(new GatewayError('shutting_down'));
    try {
      return await work(signal);
    } catch (error) {
      // An abort surfaces as whatever it broke; its reason is the truth.
      throw signal.aborted ? signal.reason : error;
    } finally {
      running.delete(controller);
      clearTimeout(timer);
      caller?.removeEventListener('abort', onCaller);
    }
  }

  return {
    /** Aborts work by the deadline with `source_timeout`, by the caller's signal, or by `close`; rejects with that reason. */
    within<T>(caller: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const controller = new AbortController();
      const result = run(controller, caller, work);
      running.set(controller, result);
      return result;
    },
    /** Aborts all with `shutting_down`, and whatever begins later; resolves when all have ended. */
    async close(): Promise<void> {
      closed = true;
      for (const controller of running.keys()) controller.abort(new GatewayError('shutting_down'));
      await Promise.allSettled(running.values());
    },
  };
}
