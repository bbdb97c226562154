import { type ErrorCode, errorTable, GatewayError } from '../errors.js';
import { sourceFailed, sourceTooLarge } from '../source/failure.js';
import type { CheckedUrl, FetchOptions, Source } from '../source/fetch.js';
import { judgeUrl } from '../source/judge-url.js';
import { parseExemptOrigins } from '../source/origins.js';
import { parseSourceUrl } from '../source/url.js';
import type { FakeAnswer, FakeFetch } from './types.js';

const noneExempt = parseExemptOrigins([]);

/**
 * A source that asks a test in place of the network. What callers name by a url is judged as ever. What a handler fetches is not,
 * because an operator may allow an inner server: the test says what comes of it.
 */
export function createFakeSource(answer: FakeFetch | undefined): Source {
  function check(raw: string, field?: string): { href: string } {
    const own = field === undefined ? parseSourceUrl(raw, noneExempt) : undefined;
    if (own && !own.ok && own.kind === 'refused') return { href: new URL(raw).href };
    return { href: judgeUrl(raw, noneExempt, field).url.href };
  }

  async function ask(href: string, options: FetchOptions): Promise<FakeAnswer> {
    if (!answer) throw notFetched(href);
    const { accept, maxBytes } = options;
    try {
      return await answer(href, {
        ...(accept === undefined ? {} : { accept }),
        ...(maxBytes === undefined ? {} : { maxBytes }),
      });
    } catch (error) {
      throw asOwn(error);
    }
  }

  async function fetch({ href }: CheckedUrl, options: FetchOptions = {}): ReturnType<Source['fetch']> {
    const { maxBytes, anyStatus, signal } = options;
    const { status = 200, headers = {}, bytes = '' } = await ask(href, options);
    signal?.throwIfAborted();
    const body = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : new Uint8Array(bytes);
    if (maxBytes !== undefined && body.byteLength > maxBytes) throw sourceTooLarge(maxBytes);
    if (!anyStatus && status !== 200) {
      throw sourceFailed(`The server behind the url answered with ${status}.`);
    }
    return { status, headers, body };
  }

  return { check, kept: () => undefined, fetch, close: async () => undefined };
}

function notFetched(href: string): Error {
  const how = "call the helper with { fetch: (url) => ({ status: 200, bytes: '…' }) }";
  return new GatewayError('source_refused', { message: `${href} is not fetched in a test: ${how}` });
}

/** What a test throws in the gateway's place is the gateway's word; anything else is a fault of the test's own. */
function asOwn(error: unknown): unknown {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const isOwn = typeof code === 'string' && Object.hasOwn(errorTable, code);
  return isOwn ? new GatewayError(code as ErrorCode, { message: String(message) }) : error;
}
