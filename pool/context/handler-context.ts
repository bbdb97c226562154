import { createRequire } from 'node:module';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Logger } from 'pino';
import { nameOf } from '../answer.js';
import { limitConcurrency } from '../concurrency.js';
import { readThrown, type Thrown } from '../errors.js';
import {
  type AbortCause,
  type CallIds,
  type Fetched,
  type FetchOptions,
  type FetchRequest,
  type FromThread,
  fetchAfterEnd,
  fetchError,
  type LogLine,
  type LogSink,
  type TaskHost,
  type ToThread,
  toFetchRefusal,
} from './messages.js';

/** The main thread's end of the link to a worker while a task runs. */
export function createThreadLink(onLog: ((line: LogLine) => void) | undefined) {
  const { port1: own, port2: port } = new MessageChannel();
  let current: { task: number; host: TaskHost | undefined } | undefined;
  let fetches: AbortController | undefined;

  own.on('message', (message: FromThread) => {
    if (message.kind === 'log') onLog?.(message.line);
    else void fetchFor(message);
  });
  // What a task waits for is Piscina's port, which keeps the process alive.
  own.unref();

  async function fetchFor({ task, id, request }: FromThread & { kind: 'fetch' }): Promise<void> {
    if (current?.task !== task) return;
    fetches ??= new AbortController();
    const { signal } = fetches;
    try {
      if (!current.host) throw new Error('nothing is fetched for this task');
      const fetched = await current.host.fetch(request, signal);
      if (!signal.aborted) send({ kind: 'fetched', task, id, fetched }, [fetched.bytes.buffer]);
    } catch (error) {
      // What was aborted here is not answered.
      if (!signal.aborted) send({ kind: 'refused', task, id, refusal: toFetchRefusal(error) });
    }
  }

  function send(message: ToThread, moved: ArrayBuffer[] = []): void {
    own.postMessage(message, moved);
  }

  function stopFetches(): void {
    fetches?.abort();
    fetches = undefined;
  }

  return {
    /** The other end, which moves to the worker. */
    port,
    /** A task begins; `host` serves the worker's requests. */
    begin(task: number, host: TaskHost | undefined): void {
      current = { task, host };
    },
    /** Aborts the task in the worker. */
    abort(why: AbortCause): void {
      if (current) send({ kind: 'end', task: current.task, why });
      stopFetches();
    },
    /** The task has ended: its fetches are aborted. */
    end(): void {
      current = undefined;
      stopFetches();
    },
    close(): void {
      stopFetches();
      own.close();
    },
  };
}

export type WorkerLink = ReturnType<typeof createWorkerLink>;

/** A worker's end of the same link. */
export function createWorkerLink(port: MessagePort, logLevel: string) {
  const pending = new Map<
    number,
    { resolve: (fetched: Fetched) => void; reject: (error: unknown) => void }
  >();
  let current: WorkerScope | undefined;
  let lastId = 0;
  const sink: LogSink = { logLevel, write: (line) => send({ kind: 'log', line }) };

  class WorkerScope extends CallScope {
    readonly task: number;

    constructor(task: number, ids: CallIds, redactor: Redactor | undefined) {
      super(ids, sink, redactor);
      this.task = task;
    }

    protected override ask(request: FetchRequest): Promise<Fetched> {
      return new Promise((resolve, reject) => {
        if (current !== this) return reject(fetchAfterEnd());
        if (this.reason) return reject(this.reason);
        lastId += 1;
        pending.set(lastId, { resolve, reject });
        send({ kind: 'fetch', task: this.task, id: lastId, request });
      });
    }
  }

  port.on('message', (message: ToThread) => {
    if (message.task !== current?.task) return;
    if (message.kind === 'end') {
      current.abort(message.why);
      rejectAll(current.reason);
      return;
    }
    const waits = pending.get(message.id);
    pending.delete(message.id);
    if (message.kind === 'fetched') waits?.resolve(message.fetched);
    else waits?.reject(fetchError(message.refusal));
  });
  // Piscina's port is what keeps the thread alive.
  port.unref();

  function send(message: FromThread): void {
    port.postMessage(message);
  }

  function rejectAll(reason: unknown): void {
    for (const { reject } of pending.values()) reject(reason);
    pending.clear();
  }

  return {
    /** A call begins. */
    begin(task: number, ids: CallIds, redactor: Redactor | undefined): CallScope {
      current = new WorkerScope(task, ids, redactor);
      return current;
    },
    /** It has ended, and with it all that it waits for. */
    end(): void {
      current?.end();
      current = undefined;
      if (pending.size > 0) rejectAll(fetchAfterEnd());
    },
  };
}

/** Removes secret values from what is logged of a plugin. */
interface Redactor {
  text(text: string): string;
  thrown(thrown: Thrown): Thrown;
}

/** Shorter values occur in texts by chance. */
const shortestSecret = 4;
const secretMark = '[secret]';

/** Knows these values again as they are, and as JSON writes them. Undefined where there is nothing to be hidden. */
export function createRedactor(secrets: readonly string[]): Redactor | undefined {
  const hidden = secrets.filter(({ length }) => length >= shortestSecret);
  if (hidden.length === 0) return undefined;
  const forms = [...new Set(hidden.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  // The longest first, for one may be part of another.
  forms.sort((a, b) => b.length - a.length);
  const text = (given: string) => forms.reduce((left, form) => left.replaceAll(form, secretMark), given);
  return {
    text,
    thrown: (thrown) =>
      JSON.parse(JSON.stringify(thrown), (_, value) => (typeof value === 'string' ? text(value) : value)),
  };
}

/** Lines that a call may write, and characters of one. */
const maxLogLines = 1_000;
const maxLogCharacters = 16_384;

let pino: typeof import('pino').pino | undefined;

/** The log of one call. Made when a handler first asks for it: to load what it is made of takes a thread some 30 ms, once. */
function createCallLog(
  { service, request_id }: CallIds,
  { logLevel: level, write }: LogSink,
  redactor?: Redactor,
): Logger {
  pino ??= createRequire(import.meta.url)('pino') as typeof import('pino').pino;
  let lines = 0;

  const options = {
    level,
    base: null,
    timestamp: false,
    serializers: { err: (error: unknown) => (error instanceof Error ? readThrown(error) : error) },
    hooks: {
      /** What is given may throw where it is read: that must not be the handler's fault. */
      logMethod(this: Logger, given: Parameters<Logger['info']>, method: Logger['info']): void {
        try {
          method.apply(this, given);
        } catch (error) {
          method.call(this, 'a line was given that cannot be written: %s', readThrown(error).message);
        }
      },
    },
  };
  return pino(options, {
    write(written: string) {
      lines += 1;
      if (lines > maxLogLines + 1) return;
      const isLast = lines > maxLogLines;
      const line = isLast
        ? warning(`the call wrote more than ${maxLogLines} lines; the others are dropped`)
        : truncateLine(written.trimEnd());
      write({ service, request_id, text: redactor ? redactLine(line, redactor) : line });
    },
  });
}

function warning(msg: string): string {
  return JSON.stringify({ level: 40, msg });
}

/** A secret may be what JSON is made of, such as `true`: without it the line is none any more. */
function redactLine(line: string, redactor: Redactor): string {
  const hidden = redactor.text(line);
  if (hidden === line) return line;
  try {
    JSON.parse(hidden);
    return hidden;
  } catch {
    return warning('a line was left out: it cannot be separated from a secret in it');
  }
}

/** Of a long line the beginning, as text: cut, it is no JSON any more. */
function truncateLine(text: string): string {
  if (text.length <= maxLogCharacters) return text;
  const level = Number(/^\{"level":(\d+)/.exec(text)?.[1] ?? 30);
  return JSON.stringify({
    level,
    msg: `a line of ${text.length} characters, of which the first ${maxLogCharacters} follow`,
    line: text.slice(0, maxLogCharacters),
  });
}

type CallFetch = (url: string | URL, options?: FetchOptions) => Promise<Fetched>;

/** Fetches of one call at a time; the others wait. */
const maxConcurrentFetches = 8;

/** Throws what is an author's slip: it is a fault, unlike a url that may not be fetched. */
function toFetchRequest(url: unknown, options: unknown): FetchRequest {
  if (typeof url !== 'string' && !(url instanceof URL)) {
    throw new TypeError(`fetch takes a url as a string or a URL, but it was given ${nameOf(url)}`);
  }
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `fetch takes options as an object, {accept, maxBytes}, but they are ${nameOf(options)}`,
    );
  }
  const { accept, maxBytes, ...others } = options as FetchOptions & Record<string, unknown>;
  const unknown = Object.keys(others);
  if (unknown.length > 0) {
    throw new TypeError(
      `fetch takes the options accept and maxBytes alone, and sends a GET; ${unknown.join(', ').slice(0, 200)} cannot be set`,
    );
  }
  if (accept !== undefined && (typeof accept !== 'string' || !/^[\t\x20-\x7e]{1,1000}$/.test(accept))) {
    throw new TypeError('the option accept of fetch must be an Accept header, such as application/json');
  }
  if (maxBytes !== undefined && !(Number.isInteger(maxBytes) && maxBytes > 0)) {
    throw new TypeError('the option maxBytes of fetch must be a whole number above 0');
  }
  return {
    url: String(url),
    ...(accept !== undefined && { accept }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}

/** One call while it lasts: what its handler may use beside the input. Its parts are made on first use: most calls use none. */
export abstract class CallScope {
  readonly ids: CallIds;
  readonly #parts: LogSink;
  readonly #redactor: Redactor | undefined;
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  #fetch: CallFetch | undefined;
  #reason: DOMException | undefined;
  #over = false;

  constructor(ids: CallIds, parts: LogSink, redactor?: Redactor) {
    this.ids = ids;
    this.#parts = parts;
    this.#redactor = redactor;
  }

  /** Has the gateway fetch; rejects with an error made by `fetchError`, or with the reason for which the call is given up. */
  protected abstract ask(request: FetchRequest): Promise<Fetched>;

  /** Called when the handler first wants to know the call's end: from then on `abort` is to be called when it comes. */
  protected watch(): void {}

  /** Aborted when the client disconnects or the deadline passes. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
      else this.watch();
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    this.#log ??= createCallLog(this.ids, this.#parts, this.#redactor);
    return this.#log;
  }

  get fetch(): CallFetch {
    if (!this.#fetch) {
      const limited = limitConcurrency(maxConcurrentFetches);
      this.#fetch = async (url, options = {}) => {
        const request = toFetchRequest(url, options);
        return limited(() => {
          if (this.#over) throw fetchAfterEnd();
          return this.ask(request);
        });
      };
    }
    return this.#fetch;
  }

  /** Why the call was given up, where it was. */
  get reason(): DOMException | undefined {
    return this.#reason;
  }

  /** What was thrown, without what is secret. */
  redacted(thrown: Thrown): Thrown {
    return this.#redactor ? this.#redactor.thrown(thrown) : thrown;
  }

  /** Aborts the call: its handler may end by itself. */
  abort(why: AbortCause): void {
    if (this.#reason || this.#over) return;
    this.#reason =
      why === 'gone'
        ? new DOMException('The client has disconnected.', 'AbortError')
        : new DOMException('The call is past its deadline.', 'TimeoutError');
    this.#controller?.abort(this.#reason);
  }

  /** The call has been answered: nothing is fetched for it any more. */
  end(): void {
    this.#over = true;
  }
}

/** What a thread keeps of a helper for all of its calls. */
export interface HelperParts {
  config: Readonly<Record<string, string>>;
  /** What the plugin's `setup` gave. */
  state: unknown;
  redactor: Redactor | undefined;
}

/**
 * A handler's second argument. What costs something to make stands behind getters; so does what may be secret, which JSON of a
 * whole context then does not hold.
 */
export class HandlerContext {
  readonly service: string;
  readonly request_id: string;
  declare image?: unknown;
  declare files?: Record<string, unknown>;
  readonly #scope: CallScope;
  readonly #parts: HelperParts;

  constructor(scope: CallScope, parts: HelperParts) {
    this.service = scope.ids.service;
    this.request_id = scope.ids.request_id;
    this.#scope = scope;
    this.#parts = parts;
  }

  get config(): HelperParts['config'] {
    return this.#parts.config;
  }

  get state(): unknown {
    return this.#parts.state;
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get log(): Logger {
    return this.#scope.log;
  }

  get fetch(): CallFetch {
    return this.#scope.fetch;
  }
}
