import type { Shelf } from '../cache/cache.js';
import { createJudgePolicy, type Policy } from './cache-policy.js';
import type { WholeAnswer } from './exchange.js';
import { sourceTooLarge } from './failure.js';
import type { Hop } from './hop.js';

/** A file that may be used again. */
export interface KeptFile {
  bytes: Uint8Array<ArrayBuffer>;
  policy: Policy;
}

/** Whose file it is, and which. */
export interface Wish {
  tenant: string;
  url: URL;
  accept: string;
  /** Bytes that are taken at most. */
  maxBytes: number;
}

/** Files that were downloaded, for as long as HTTP permits. */
export interface KeptFiles {
  /** A file that is there and holds without a word to its server. Throws `image_too_large` where it is larger than wanted. */
  fresh(wish: Wish): WholeAnswer | undefined;
  /** Puts itself before the requests of downloads: those of nobody, and those that take any status, pass. */
  before(hop: Hop): Hop;
}

/** What a file takes besides its bytes, as it was measured. */
const policyBytes = 2048;

/** `now` in milliseconds since 1970. */
export function createKeptFiles(shelf: Shelf<KeptFile>, now: () => number = Date.now): KeptFiles {
  const judge = createJudgePolicy(now);

  function keep(wish: Wish, file: KeptFile): boolean {
    const said = Object.values(file.policy.said).join('').length;
    // The url stands in what was asked, too.
    const bytes = file.bytes.byteLength + said + wish.url.href.length + policyBytes;
    return shelf.set(wish.tenant, keyOf(wish), file, bytes);
  }

  function fresh(wish: Wish): WholeAnswer | undefined {
    const file = shelf.get(wish.tenant, keyOf(wish));
    return file?.policy.isFresh() ? handOut(file, 'hit', wish) : undefined;
  }

  return {
    fresh,
    before(hop) {
      return async function keepingHop(target, tenant, options) {
        if (tenant === undefined || options.anyStatus) return hop(target, tenant, options);
        const wish: Wish = { tenant, url: target.url, accept: options.accept, maxBytes: options.maxBytes };
        const found = fresh(wish);
        if (found) return found;
        const stale = shelf.get(tenant, keyOf(wish));
        // One that is too large now may have become smaller, which only a new download can tell.
        const validators =
          stale && stale.bytes.byteLength <= wish.maxBytes ? stale.policy.validators() : undefined;
        const asked = now();
        const answer = await hop(target, tenant, { ...options, validators });
        if (stale && validators && 'body' in answer && answer.status === 304) {
          const renewed = stale.policy.renewed(answer.headers, { asked, came: now() });
          if (renewed) {
            const file = { bytes: stale.bytes, policy: renewed.policy };
            if (!renewed.keep || !keep(wish, file)) shelf.delete(tenant, keyOf(wish));
            return handOut(file, 'revalidated', wish);
          }
          // Said of something else than what is here: the whole is asked for.
          shelf.delete(tenant, keyOf(wish));
          return keepingHop(target, tenant, options);
        }
        if (!('body' in answer)) {
          shelf.delete(tenant, keyOf(wish));
          return answer;
        }
        const policy = judge(wish, answer.headers, { asked, came: now() });
        if (policy && keep(wish, { bytes: answer.body, policy })) return { ...answer, kept: 'miss' };
        shelf.delete(tenant, keyOf(wish));
        return answer;
      };
    },
  };
}

function handOut({ bytes, policy }: KeptFile, kept: 'hit' | 'revalidated', { maxBytes }: Wish): WholeAnswer {
  if (bytes.byteLength > maxBytes) throw sourceTooLarge(maxBytes);
  const type = policy.said['content-type'];
  return { status: 200, headers: type === undefined ? {} : { 'content-type': type }, body: bytes, kept };
}

/** What a request varies by besides these is the same for all. The fragment goes nowhere. */
function keyOf({ url, accept }: Wish): string {
  return `${accept} ${url.href.slice(0, url.href.length - url.hash.length)}`;
}
