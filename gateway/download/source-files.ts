import { type CacheNamespace, createInFlight } from '../cache.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { WholeAnswer } from './exchange.js';
import type { CheckedUrl, FetchOptions, Source } from './fetch.js';

/** A file that a call names by its url. */
export interface FileRequest {
  tenant: string;
  /** The `Accept` header. */
  accept: string;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes: number | undefined;
}

export interface FileWait {
  /** Ends the wait at once; the promise is rejected with its reason. */
  signal: AbortSignal;
  /** A download that several calls wait for is a part of the first one's trace. */
  trace?: FetchOptions['trace'];
  /** Awaited before a server is asked, and not where the file is cached or on its way: may reject. */
  expect(): Promise<void>;
}

/** A file for one call. */
export interface SourceFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** Its media type as its server says; empty where it says nothing. */
  type: string;
  /** Others use the same bytes, now or later: they must be neither transferred nor changed. */
  shared: boolean;
  /** To be called when the call no longer needs it. Until then its bytes count as held, once for all who share them. */
  release(): void;
}

/** Brings files by their urls, once for all calls of a tenant that want the same at the same time. */
export interface SourceFiles {
  check: Source['check'];
  /** A cached file, which the result hands out. Throws as `Source.cached` does. */
  cached(checked: CheckedUrl, request: FileRequest): (() => SourceFile) | undefined;
  /** Rejects as `Source.fetch` does, and as `expect` or the inbound budget does. */
  bring(checked: CheckedUrl, request: FileRequest & FileWait): Promise<SourceFile>;
}

/**
 * A download that several calls wait for has an inbound transfer of its own, which counts its bytes and ends it where they come too
 * slowly, and goes on when the call leaves that started it.
 */
export function createSourceFiles({
  source,
  inboundBudget,
  count = () => undefined,
}: {
  source: Source;
  inboundBudget: InboundBudget;
  /** Counts the cache status of files. */
  count?: CacheNamespace<never>['count'];
}): SourceFiles {
  const inFlight = createInFlight<WholeAnswer>();
  const hold = createSharedHolds(inboundBudget);

  async function download(
    checked: CheckedUrl,
    { expect, tenant, accept, maxBytes, trace }: FileRequest & FileWait,
    signal: AbortSignal,
  ): Promise<WholeAnswer> {
    await expect();
    const transfer = inboundBudget.enter(tenant, 'source_timeout');
    try {
      return await source.fetch(checked, {
        tenant,
        accept,
        maxBytes,
        trace,
        signal: AbortSignal.any([transfer.signal, signal]),
        onProgress: transfer.add,
      });
    } finally {
      // From here on each call that gets the bytes holds them.
      transfer.release();
    }
  }

  function handOut({ headers, body }: WholeAnswer, shared: boolean, tenant: string): SourceFile {
    const type = headers['content-type'];
    return {
      bytes: body,
      type: typeof type === 'string' ? type : '',
      shared,
      release: hold(tenant, body),
    };
  }

  function cached(checked: CheckedUrl, request: FileRequest): (() => SourceFile) | undefined {
    const found = source.cached(checked, request);
    if (!found) return undefined;
    return () => {
      count('hit');
      return handOut(found, true, request.tenant);
    };
  }

  return {
    check: (raw, field) => source.check(raw, field),
    cached,
    async bring(checked, request) {
      const { tenant, accept, maxBytes, signal } = request;
      const found = cached(checked, request);
      if (found) return found();
      // Another limit is another download: one may fail where the other does not.
      const key = JSON.stringify([tenant, accept, maxBytes, checked.href]);
      const { value, joined, shared } = await inFlight.join(key, signal, (signal) =>
        download(checked, request, signal),
      );
      count(joined ? 'shared' : (value.cacheStatus ?? 'miss'));
      return handOut(value, shared || value.cacheStatus !== undefined, tenant);
    },
  };
}

/** Counts bytes as held by a tenant's calls while any of them uses them, once however many do; the result ends one use. */
function createSharedHolds(budget: Pick<InboundBudget, 'hold'>) {
  const held = new WeakMap<Uint8Array, { users: number; release: () => void }>();

  return function hold(tenant: string, bytes: Uint8Array): () => void {
    const entry = held.get(bytes) ?? { users: 0, release: budget.hold(tenant, bytes.byteLength) };
    held.set(bytes, entry);
    entry.users += 1;
    let released = false;
    return function release() {
      if (released) return;
      released = true;
      entry.users -= 1;
      if (entry.users > 0) return;
      held.delete(bytes);
      entry.release();
    };
  };
}
