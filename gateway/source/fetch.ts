import { createCache, type Shelf } from '../cache/cache.js';
import type { Step, Trace } from '../tracing/tracing.js';
import { createDeadlines } from './deadlines.js';
import type { WholeAnswer } from './exchange.js';
import { sourceFailed, sourceRefused } from './failure.js';
import { createFraming } from './framing.js';
import { createGuard, type GuardOptions } from './guard.js';
import { createHop } from './hop.js';
import { judgeUrl } from './judge-url.js';
import { createKept } from './kept.js';
import { createKeptFiles, type KeptFile } from './kept-files.js';
import { parseSourceUrl, type Target } from './url.js';

export interface SourceOptions extends GuardOptions {
  /** Milliseconds for a whole download, redirects and all. */
  timeoutMs: number;
  /** Bytes of a file at most. */
  maxBytes: number;
  /** Where tenants' files are kept for as long as HTTP permits; none is by default. */
  shelf?: Shelf<KeptFile>;
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
  const kept = createKept();
  const files = createKeptFiles(options.shelf ?? createCache(0).shelf('source'), options.now);
  const hop = files.before(createHop({ judge, dial, kept }));
  const deadlines = createDeadlines(timeoutMs);

  function check(raw: string, field?: string): CheckedUrl {
    return Object.freeze({ href: judgeUrl(raw, origins, field).url.href });
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
    const target = judgeUrl(checked.href, origins);
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
      const { url } = judgeUrl(checked.href, origins);
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
