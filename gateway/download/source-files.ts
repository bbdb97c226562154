import { type CacheNamespace, createInFlight } from '../cache.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { WholeAnswer } from './exchange.js';
import type { CheckedUrl, FetchOptions, Source } from './fetch.js';

export interface FileRequest {
  tenant: string;
  accept: string;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes: number | undefined;
}

export interface FileWait {
  signal: AbortSignal;
  /** A download that several calls wait for is a part of the first one's trace. */
  trace?: FetchOptions['trace'];
  /** Awaited before a server is asked, and not where the file is cached or on its way: may reject. */
  expect(): Promise<void>;
}

export interface SourceFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** Its media type as its server says; empty where it says nothing. */
  type: string;
  /** Others use the same bytes, now or later: they must be neither transferred nor changed. */
  shared: boolean;
  /** To be called when the call no longer needs it. Until then its bytes count as held, once for all who share them. */
  release(): void;
}

export type SourceFiles = ReturnType<typeof createSourceFiles>;

interface SourceFilesParts {
  source: Source;
  inboundBudget: InboundBudget;
  count?: CacheNamespace<never>['count'];
}

/** Brings files by url, once for all calls of a tenant; a download outlives the call that started it. */
export function createSourceFiles({ source, inboundBudget, count = () => undefined }: SourceFilesParts) {
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
    return { bytes: body, type: typeof type === 'string' ? type : '', shared, release: hold(tenant, body) };
  }

  /** A cached file, which the result hands out. Throws as `Source.cached` does. */
  function cached(checked: CheckedUrl, request: FileRequest): (() => SourceFile) | undefined {
    const found = source.cached(checked, request);
    if (!found) return undefined;
    return () => {
      count('hit');
      return handOut(found, true, request.tenant);
    };
  }

  return {
    check: source.check,
    cached,
    /** Rejects as `Source.fetch` does, and as `expect` or the inbound budget does. */
    async bring(checked: CheckedUrl, request: FileRequest & FileWait): Promise<SourceFile> {
      const { tenant, accept, maxBytes, signal } = request;
      const found = cached(checked, request);
      if (found) return found();
      // Another limit is another download: one may fail where the other does not.
      const key = JSON.stringify([tenant, accept, maxBytes, checked.href]);
      const own = (signal: AbortSignal) => download(checked, request, signal);
      const { value, joined, shared } = await inFlight.join(key, signal, own);
      count(joined ? 'shared' : (value.cacheStatus ?? 'miss'));
      return handOut(value, shared || value.cacheStatus !== undefined, tenant);
    },
  };
}

/** Counts bytes as held by a tenant's calls while any of them uses them, once however many do; the result ends one use. */
function createSharedHolds(budget: Pick<InboundBudget, 'hold'>) {
  const held = new WeakMap<Uint8Array, { users: Set<object>; release: () => void }>();

  return function hold(tenant: string, bytes: Uint8Array): () => void {
    const entry = held.get(bytes) ?? { users: new Set(), release: budget.hold(tenant, bytes.byteLength) };
    held.set(bytes, entry);
    const release = () => {
      if (!entry.users.delete(release) || entry.users.size > 0) return;
      held.delete(bytes);
      entry.release();
    };
    entry.users.add(release);
    return release;
  };
}
