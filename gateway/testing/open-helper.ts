import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { callPlugin, type CallOptions as PluginCallOptions } from '../../pool/call-plugin.js';
import type { HelperParts } from '../../pool/context/handler-context.js';
import { type LogLine, refusalIn } from '../../pool/context/messages.js';
import { PoolError, readThrown } from '../../pool/errors.js';
import { makePreview } from '../../pool/image/preview.js';
import { createInputValidator } from '../../pool/input-validator.js';
import type { Pool, RunTaskOptions } from '../../pool/pool.js';
import type { CallTask, Task, TaskOutcome } from '../../pool/task.js';
import { isInspected } from '../../pool/task-limits.js';
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
import { createLocalHelpers, type GivenInput, localCaller } from '../local-helpers.js';
import { createFetchForCall, MainScope } from '../pipeline/run-helper.js';
import { levelName } from '../plugins/helper-log.js';
import type { Helper } from '../plugins/registry.js';
import { type CheckedHelper, imageEngine } from './checked-helper.js';
import type { CallOptions, FakeAnswer, FakeFetch, LoggedLine } from './types.js';

interface OpenHelperOptions extends Pick<CallOptions, 'fetch' | 'log'> {
  service: string;
  parts: HelperParts;
}

/**
 * The gateway's own stages around one helper, by the gateway's default limits, but with this thread in the place of the pool and a
 * test in that of the network. `thrown` gives the handler's error, as it was before it became data.
 */
export function openHelper(checked: CheckedHelper, { service, parts, fetch, log }: OpenHelperOptions) {
  const config = loadConfig({});
  const { maxPixels, maxFrames, maxTextBytes, taskTimeoutMs: timeoutMs } = config;
  const imageLimits = { maxPixels, maxFrames };
  const bodyLimits = { maxTextBytes, maxFileBytes: config.maxImageBytes };
  const maxJsonBytes = 4 * maxTextBytes;
  const inboundBudget = createInboundBudget({
    most: config.arriving,
    bytes: config.inputBytes,
    largest: largestUpload(bodyLimits),
  });
  const source = createFakeSource(fetch);
  const write = (line: LogLine) => log?.(readLine(line));
  const helper: Helper = { ...checked.helper, id: service };
  let thrown: unknown;
  const pool = inThisThread(checked, {
    parts,
    // Read only where there is a picture.
    get engine() {
      return imageEngine();
    },
    limits: imageLimits,
    maxJsonBytes,
    maxBodyBytes: Math.floor(config.outputBytes / 4),
    timeoutMs,
    onLog: write,
    onThrown: (error) => {
      thrown = error;
    },
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
  return {
    call: (input: GivenInput, signal?: AbortSignal) => local.call(helper, input, signal),
    thrown: () => thrown,
    close: local.close,
  };
}

/** Milliseconds that a handler has after its deadline to end by itself. */
const graceMs = 250;

const never = new AbortController().signal;

interface ThisThreadOptions extends PluginCallOptions {
  parts: HelperParts;
  timeoutMs: number;
  onLog: (line: LogLine) => void;
  onThrown: (error: unknown) => void;
}

/**
 * Stands in for the pool: does in this thread what a worker would do. Nothing guards the process against the helper, so that what
 * it lets escape fails the test run as in any program.
 */
function inThisThread(
  { plugin, abilities }: CheckedHelper,
  options: ThisThreadOptions,
): Pick<Pool, 'ticket'> {
  const { parts, onLog, onThrown } = options;
  const validate = createInputValidator(abilities);

  async function call(task: CallTask, { host, signal = never }: RunTaskOptions): Promise<TaskOutcome> {
    const scope = new MainScope(
      { state: { signal, bytesIn: 0 }, caller: localCaller },
      task.context,
      {
        log: { logLevel: 'trace', write: onLog },
        fetch: (_, request, signal) => {
          if (!host) throw new Error('nothing is fetched for this task');
          return host.fetch(request, signal);
        },
      },
      parts,
    );
    const loaded = { service: task.context.service, plugin, shipped: true, parts };
    // A worker has loaded it before the call's time begins.
    if (task.files) await options.engine;
    const timeoutMs = task.timeoutMs ?? options.timeoutMs;
    const began = performance.now();
    // While the handler computes no timer runs here. A breakpoint must not end the call.
    const isLate = () => !isInspected() && performance.now() - began > timeoutMs;
    const ended = new AbortController();
    const untilEnd = { signal: ended.signal };
    const deadline = async () => {
      await sleep(timeoutMs, undefined, untilEnd);
      scope.abort('deadline');
      await sleep(graceMs, undefined, untilEnd);
      throw lateError();
    };
    const gone = async () => {
      if (!signal.aborted) await once(signal, 'abort', untilEnd);
      scope.abort('gone');
      throw new PoolError('shutting_down', 'the call was given up');
    };
    try {
      const ends = isInspected() ? [gone()] : [gone(), deadline()];
      const value = await Promise.race([callPlugin(loaded, task, scope, options), ...ends]);
      if (isLate()) throw lateError();
      return { ok: true, value, ms: 0 };
    } catch (error) {
      if (error instanceof PoolError || !isLate()) throw error;
      throw lateError(error);
    } finally {
      ended.abort();
      scope.end();
    }
  }

  async function answer(task: Exclude<Task, CallTask>) {
    if (task.kind === 'validate') return validate(task);
    const { bytes, maxBytes } = task;
    const { body, type } = await makePreview(await options.engine, bytes, options.limits, { maxBytes });
    return { kind: 'bytes', bytes: body, type } as const;
  }

  async function run(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
    const began = performance.now();
    try {
      if (task.kind === 'call') return await call(task, options);
      return { ok: true, value: await answer(task), ms: performance.now() - began };
    } catch (error) {
      if (error instanceof PoolError) throw error;
      onThrown(error);
      const refusal = refusalIn(error);
      const failed = { ok: false as const, ...readThrown(error), ms: performance.now() - began };
      return refusal ? { ...failed, refusal } : failed;
    }
  }

  return {
    ticket: () => ({
      reserve: async () => undefined,
      cancelReservation: () => undefined,
      run: (task, options = {}) => run(task, options),
      release: () => undefined,
    }),
  };
}

function lateError(cause?: unknown): PoolError {
  return new PoolError('helper_timeout', 'the task ran past its time', { cause });
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
