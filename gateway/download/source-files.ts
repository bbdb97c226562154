import { type CacheNamespace, createInFlight } from '../cache.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { WholeAnswer } from './exchange.js';
import type { CheckedUrl, FetchOptions, Source } from './fetch.js';

/** Which file is wanted, and for whom. */
export interface FileRequest {
  tenant: string;
  /** The `Accept` header. */
  accept: string;
  /** Bytes at most, where that is less than the source's own. */
  maxBytes: number | undefined;
}

/** What a file may be waited for. */
export interface FileWait {
  /** Ends the waiting at once; the promise is rejected with its reason. */
  signal: AbortSignal;
  /** Follows the call; a download that several wait for is a part of the one that it began with. */
  trace?: FetchOptions['trace'];
  /** Awaited before a server is asked, and not where the file is there or on its way: may reject. */
  expect(): Promise<void>;
}

/** A file for one call. */
export interface SourceFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** Its media type as its server says; empty where it says nothing. */
  type: string;
  /** Others use the same bytes, now or later: they must be neither moved nor changed. */
  shared: boolean;
  /** To be called when the call needs it no more. Until then its bytes count as held, once for all who share them. */
  release(): void;
}

/** Brings the files that calls name by their urls, once for all calls of a tenant that want the same at the same time. */
export interface SourceFiles {
  check: Source['check'];
  /** A file that need not be waited for; what it gives takes it. Throws as `Source.kept` does. */
  kept(checked: CheckedUrl, wish: FileRequest): (() => SourceFile) | undefined;
  /** Rejects as `Source.fetch` does, and with what `expect` or the arrivals refuse. */
  bring(checked: CheckedUrl, wish: FileRequest & FileWait): Promise<SourceFile>;
}

interface SourceFilesParts {
  source: Source;
  arrivals: InboundBudget;
  /** Told how files were come by. */
  count?: CacheNamespace<never>['count'];
}

/**
 * Files before the guarded download. A download that several wait for is nobody's in particular: it has an arrival of its own, which
 * counts its bytes and ends it where they come too slowly, and goes on when the call leaves that it began with.
 */
export function createSourceFiles({
  source,
  arrivals,
  count = () => undefined,
}: SourceFilesParts): SourceFiles {
  const flights = createInFlight<WholeAnswer>();
  const hold = createSharedHolds(arrivals);

  async function download(
    checked: CheckedUrl,
    { expect, tenant, accept, maxBytes, trace }: FileRequest & FileWait,
    signal: AbortSignal,
  ): Promise<WholeAnswer> {
    await expect();
    const arrival = arrivals.enter(tenant, 'source_timeout');
    try {
      return await source.fetch(checked, {
        tenant,
        accept,
        maxBytes,
        trace,
        signal: AbortSignal.any([arrival.ending.signal, signal]),
        onProgress: arrival.add,
      });
    } finally {
      // From here on each who got the bytes holds them.
      arrival.release();
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

  function kept(checked: CheckedUrl, wish: FileRequest): (() => SourceFile) | undefined {
    const found = source.kept(checked, wish);
    return (
      found &&
      function take() {
        count('hit');
        return handOut(found, true, wish.tenant);
      }
    );
  }

  return {
    check: (raw, field) => source.check(raw, field),
    kept,
    async bring(checked, wish) {
      const { tenant, accept, maxBytes, signal } = wish;
      const take = kept(checked, wish);
      if (take) return take();
      // Another bound is another download: one may fail where the other does not.
      const key = JSON.stringify([tenant, accept, maxBytes, checked.href]);
      const { value, joined, shared } = await flights.join(key, signal, (signal) =>
        download(checked, wish, signal),
      );
      count(joined ? 'shared' : (value.kept ?? 'miss'));
      return handOut(value, shared || value.kept !== undefined, tenant);
    },
  };
}

/** Counts bytes as held by a tenant's calls while anybody uses them, once however many do; what it gives ends one use, once. */
type SharedHolds = (tenant: string, bytes: Uint8Array) => () => void;

/** Makes it of what counts bytes that are held. */
function createSharedHolds(arrivals: Pick<InboundBudget, 'hold'>): SharedHolds {
  const held = new WeakMap<Uint8Array, { users: number; letGo: () => void }>();

  return function holdShared(tenant, bytes) {
    const entry = held.get(bytes) ?? { users: 0, letGo: arrivals.hold(tenant, bytes.byteLength) };
    held.set(bytes, entry);
    entry.users += 1;
    let released = false;
    return function release() {
      if (released) return;
      released = true;
      entry.users -= 1;
      if (entry.users > 0) return;
      held.delete(bytes);
      entry.letGo();
    };
  };
}
