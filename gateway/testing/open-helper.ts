import type { HelperParts } from '../../pool/context/handler-context.js';
import type { LogLine } from '../../pool/context/messages.js';
import { loadConfig } from '../config.js';
import type { CheckedUrl, FetchOptions, Source } from '../download/fetch.js';
import { createSourceFiles } from '../download/source-files.js';
import {
  checkUrl,
  parseExemptOrigins,
  parseSourceUrl,
  sourceFailed,
  sourceTooLarge,
} from '../download/url.js';
import { type ErrorCode, errorTable, GatewayError } from '../errors.js';
import { createInboundBudget } from '../http/inbound-budget.js';
import { largestUpload } from '../http/multipart.js';
import { createLocalHelpers, type LocalHelpers } from '../local-helpers.js';
import { createFetchForCall } from '../pipeline/run-helper.js';
import { levelName } from '../plugins/helper-log.js';
import type { Helper } from '../plugins/registry.js';
import type { Bench, CheckedHelper } from './bench.js';
import { inThisThread } from './this-thread.js';
import type { CallOptions, FakeAnswer, FakeFetch, LoggedLine } from './types.js';

interface OpenHelper extends Pick<LocalHelpers, 'call' | 'close'> {
  helper: Helper;
}

interface OpenHelperOptions extends Pick<CallOptions, 'fetch' | 'log'> {
  service: string;
  parts: HelperParts;
  /** Called with the handler's error, before it becomes data. */
  onThrown: (error: unknown) => void;
}

/**
 * The gateway's own stages around one helper, by the gateway's default limits, but with this thread in the place of the pool and a
 * test in that of the network.
 */
export function openHelper(
  { helper: known, plugin, abilities }: CheckedHelper,
  bench: Bench,
  { service, parts, fetch, log, onThrown }: OpenHelperOptions,
): OpenHelper {
  const config = loadConfig({});
  const imageLimits = { maxPixels: config.maxPixels, maxFrames: config.maxFrames };
  const bodyLimits = { maxTextBytes: config.maxTextBytes, maxFileBytes: config.maxImageBytes };
  const maxJsonBytes = 4 * config.maxTextBytes;
  const maxBodyBytes = Math.floor(config.outputBytes / 4);
  const timeoutMs = config.taskTimeoutMs;
  const inboundBudget = createInboundBudget({
    most: config.arriving,
    bytes: config.inputBytes,
    largest: largestUpload(bodyLimits),
  });
  const source = createFakeSource(fetch);
  const write = log ? (line: Parameters<typeof readLine>[0]) => log(readLine(line)) : () => undefined;
  const helper: Helper = { ...known, id: service };
  const pool = inThisThread({
    plugin,
    parts,
    abilities,
    // Asked for only where there is a picture.
    get engine() {
      return bench.engine();
    },
    limits: imageLimits,
    maxJsonBytes,
    maxBodyBytes,
    timeoutMs,
    onLog: write,
    onThrown,
  });
  const local = createLocalHelpers({
    registry: new Map([[service, helper]]),
    pool,
    files: createSourceFiles({ source, inboundBudget }),
    imageLimits,
    bodyLimits,
    inline: {
      timeoutMs,
      maxJsonBytes,
      logger: { error: () => undefined },
      // All of its calls are the pool's.
      helpers: { partsOf: () => parts, prepare: async () => undefined, close: () => undefined },
      fetch: createFetchForCall(source, inboundBudget),
      log: { logLevel: 'silent', write },
    },
    close: async () => inboundBudget.close(),
  });
  return { helper, call: local.call, close: local.close };
}

const noneExempt = parseExemptOrigins([]);

/**
 * A source that asks a test in place of the network. Urls from callers are checked as ever. What a handler fetches is not,
 * because an operator may allow an inner server: the test says what comes of it.
 */
function createFakeSource(answer: FakeFetch | undefined): Source {
  function check(raw: string, field?: string): { href: string } {
    const own = field === undefined ? parseSourceUrl(raw, noneExempt) : undefined;
    if (own && !own.ok && own.kind === 'refused') return { href: new URL(raw).href };
    return { href: checkUrl(raw, noneExempt, field).url.href };
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

  return { check, cached: () => undefined, fetch, close: async () => undefined };
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

/** A line of a handler's log as a test reads it. */
function readLine({ text }: LogLine): LoggedLine {
  const { level, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return { level: levelName(level), ...fields };
}
