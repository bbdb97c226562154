import { type CacheNamespace, createCache } from '../cache.js';
import { GatewayError } from '../errors.js';
import type { Step, Trace } from '../observability/tracing.js';
import { createIdleConnections } from './connection.js';
import { createGuard, type GuardOptions } from './dial.js';
import { createFraming, type WholeAnswer } from './exchange.js';
import { type CachedFile, createCachedFiles, createHop } from './hop.js';
import { checkUrl, parseSourceUrl, sourceFailed, sourceRefused, type Target } from './url.js';

export interface SourceOptions extends GuardOptions {
  /** Milliseconds for a whole download, redirects and all. */
  timeoutMs: number;
  /** Bytes of a file at most. */
  maxBytes: number;
  /** Where tenants' files are kept for as long as HTTP permits; none is by default. */
  shelf?: CacheNamespace<CachedFile>;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
}

/** A url that passed all that can be judged without I/O. */
export interface CheckedUrl {
  readonly href: string;
}

export interface FetchOptions {
  /**
   * Whose download it is: connections that are still good are kept for the same tenant's next ones, and files where HTTP permits.
   * Without it each connection serves one request, and nothing is kept.
   */
  tenant?: string | undefined;
  /** Ends the download at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
  /**
   * Called with 0 when a final head that is taken has come, a redirect's too, then with the length of each piece of the file.
   * It ends a download by `signal` and must not throw.
   */
  onProgress?: ((bytes: number) => void) | undefined;
  /** Follows the call that wants it. */
  trace?: Pick<Trace, 'part'> | undefined;
  /** The `Accept` header, `image/*` where absent. */
  accept?: string | undefined;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes?: number | undefined;
  /** Whether an answer of any status is taken, and an empty one; else only a file is, which comes with 200. */
  anyStatus?: boolean;
}

/** Brings the bytes at a url that a stranger sent. */
export interface Source {
  /**
   * Judges a url without any I/O, so a dry run can do it too. Throws a `GatewayError`: `invalid_input` on `field`, the parameter
   * that held it (`url`), for what is not a url, `source_refused` for one that may not be fetched.
   */
  check(raw: string, field?: string): CheckedUrl;
  /** The file at a url where it is kept for the tenant and need not be asked about; throws as `check` and `fetch` do. */
  kept(checked: CheckedUrl, options: FetchOptions): WholeAnswer | undefined;
  /**
   * Downloads. The answer's bytes are alone in their ArrayBuffer and may be transferred, unless it is `kept`. Rejects with a `GatewayError`
   * (`source_refused`, `source_failed`, `source_timeout`, `image_too_large`, `shutting_down`) or, when
   * `signal` is aborted, with its reason; the connection is closed by then.
   */
  fetch(checked: CheckedUrl, options?: FetchOptions): Promise<WholeAnswer>;
  /** Ends every download with `shutting_down` and every connection, and resolves when all have ended. */
  close(): Promise<void>;
}

const maxRedirects = 3;

/**
 * The guarded download. A redirect is judged whole, as if its target had been sent by the user: so a public server
 * may redirect to an exempt origin (the user may name that one directly) and to nothing else that is inside.
 */
export function createSource(options: SourceOptions): Source {
  const { timeoutMs, maxBytes } = options;
  const { origins, judge, dial } = createGuard(options);
  const kept = createIdleConnections();
  const files = createCachedFiles(options.shelf ?? createCache(0).shelf('source'), options.now);
  const hop = files.before(createHop({ judge, dial, kept }));
  const deadlines = createDeadlines(timeoutMs);

  function check(raw: string, field?: string): CheckedUrl {
    return Object.freeze({ href: checkUrl(raw, origins, field).url.href });
  }

  function judgeRedirect(location: string, from: URL): Target {
    const verdict = parseSourceUrl(location, origins, from);
    if (verdict.ok) return verdict;
    if (verdict.kind === 'refused') throw sourceRefused(`redirect: ${verdict.problem}`);
    // The server's fault, not that of whoever named the first url: the problem names the Location, never a parameter.
    throw sourceFailed(
      `The server behind the url redirects to what cannot be followed: its Location ${verdict.problem}.`,
    );
  }

  function wantedOf({ accept = 'image/*', maxBytes: most = maxBytes }: FetchOptions) {
    return { accept, maxBytes: Math.min(most, maxBytes) };
  }

  async function download(
    first: Target,
    signal: AbortSignal,
    { tenant, onProgress, accept, maxBytes, anyStatus }: FetchOptions,
    step: Step | undefined,
  ): Promise<WholeAnswer> {
    const framing = createFraming();
    const limits = { ...wantedOf({ accept, maxBytes }), anyStatus, signal, framing, onProgress };
    let target = first;
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      // Who traces whom is nobody's business but the operator's.
      const traced = step && target.exempt ? { ...limits, trace: step.headers() } : limits;
      const answer = await hop(target, tenant, traced);
      if ('body' in answer) return answer;
      target = judgeRedirect(answer.location, target.url);
    }
    throw sourceFailed(`The server behind the url redirects more than ${maxRedirects} times.`);
  }

  async function fetch(checked: CheckedUrl, options: FetchOptions = {}): Promise<WholeAnswer> {
    // Judged again: what dials must not depend on who called check, or on what became of its result.
    const target = checkUrl(checked.href, origins);
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
  }

  return {
    check,
    kept(checked, options) {
      const { url } = checkUrl(checked.href, origins);
      const { tenant, anyStatus } = options;
      return tenant === undefined || anyStatus
        ? undefined
        : files.fresh({ tenant, url, ...wantedOf(options) });
    },
    fetch,
    async close() {
      const ended = deadlines.close();
      kept.close();
      await ended;
    },
  };
}

export interface PostOptions extends GuardOptions {
  /** Milliseconds from the name's look-up to the head of the answer. */
  timeoutMs: number;
}

/** What is sent to a url. */
interface PostMessage {
  body: Uint8Array;
  headers: Readonly<Record<string, string>>;
  /** Ends it at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/** Sends bytes to a url that a stranger sent. */
export interface Post {
  /** Milliseconds that a message takes at most. */
  readonly timeoutMs: number;
  /** Judges a url as `Source.check` does. */
  check(raw: string, field?: string): CheckedUrl;
  /**
   * Sends a message once, to the url and nowhere else, and gives the head of the answer, whatever its status. Rejects with a
   * `GatewayError` as `Source.fetch` does; what the receiver has got by then, nobody knows.
   */
  send(checked: CheckedUrl, message: PostMessage): Promise<Pick<WholeAnswer, 'status' | 'headers'>>;
  /** Ends all messages with `shutting_down`, and resolves when all have ended. */
  close(): Promise<void>;
}

/**
 * The guard of downloads before what goes out. A redirect is an answer like any other: to follow it would be to send somewhere that
 * nobody named. Of the answer's body nothing is waited for, so that no receiver can hold a message up by it.
 */
export function createPost({ timeoutMs, ...options }: PostOptions): Post {
  const { origins, judge, dial } = createGuard(options);
  const hop = createHop({ judge, dial, kept: createIdleConnections() });
  const deadlines = createDeadlines(timeoutMs);

  return {
    timeoutMs,
    check: (raw, field) => Object.freeze({ href: checkUrl(raw, origins, field).url.href }),
    send: (checked, { body, headers, signal: caller }) =>
      deadlines.within(caller, async (signal) => {
        // Judged again: what dials must not depend on when it was checked, which may be a day ago.
        const target = checkUrl(checked.href, origins);
        const wanted = { accept: '*/*', maxBytes: 0, headOnly: true, signal, framing: createFraming() };
        // For no tenant: a kept connection may break under a request, and this one must not be sent twice.
        const answer = await hop(target, undefined, { ...wanted, post: { body, headers } });
        // A head that is all that is taken leads nowhere.
        const { status, headers: received } = answer as WholeAnswer;
        return { status, headers: received };
      }),
    close: deadlines.close,
  };
}

/** What is under way, each with a deadline of its own. */
interface Deadlines {
  /**
   * Does work that ends when its signal is aborted: by the deadline with `source_timeout`, by the caller's signal with its reason,
   * or by `close` with `shutting_down`; rejects with that reason, whatever the abort broke.
   */
  within<T>(caller: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends all, and whatever is begun from now on; resolves when all have ended. */
  close(): Promise<void>;
}

const ignore = () => {};

function createDeadlines(timeoutMs: number): Deadlines {
  const deadlines = new Set<Deadline>();
  const running = new Set<Promise<unknown>>();
  let closed = false;

  async function run<T>(
    caller: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = startDeadline(timeoutMs, caller);
    deadlines.add(deadline);
    if (closed) deadline.abort(new GatewayError('shutting_down'));
    try {
      return await work(deadline.signal);
    } catch (error) {
      // An abort surfaces as whatever it broke; its reason is the truth.
      throw deadline.signal.aborted ? deadline.signal.reason : error;
    } finally {
      deadlines.delete(deadline);
      deadline.release();
    }
  }

  return {
    within(caller, work) {
      const result = run(caller, work);
      const settled = result.then(ignore, ignore).finally(() => running.delete(settled));
      running.add(settled);
      return result;
    },
    async close() {
      closed = true;
      for (const deadline of deadlines) deadline.abort(new GatewayError('shutting_down'));
      await Promise.all(running);
    },
  };
}

/** Of the time in so many parts: what a busy thread adds to one is not the server's. */
const clockParts = 10;

interface Deadline {
  /** Aborted with the error that the download is to end with. */
  signal: AbortSignal;
  abort(reason: unknown): void;
  /** Stops the clock; to be called however the download ended. */
  release(): void;
}

/**
 * One clock over a whole download: name resolution, connection, TLS, headers, body and every redirect. A time-out per read
 * would be reset for ever by a server that sends a byte now and then. The caller's signal ends it with the caller's reason.
 */
function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const onCaller = () => abort(caller?.reason);
  let left = clockParts;
  const timer = setTimeout(() => {
    left -= 1;
    if (left > 0) timer.refresh();
    else abort(new GatewayError('source_timeout', { cause: new Error(`not done after ${timeoutMs} ms`) }));
  }, timeoutMs / clockParts);
  if (caller?.aborted) onCaller();
  else caller?.addEventListener('abort', onCaller, { once: true });
  return {
    signal: controller.signal,
    abort,
    release() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onCaller);
    },
  };
}
