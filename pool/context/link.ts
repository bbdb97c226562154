import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { CallScope, type Redactor } from './handler-context.js';
import {
  type AbortCause,
  type CallIds,
  type Fetched,
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
interface ThreadLink {
  /** The other end, which moves to the worker. */
  readonly port: MessagePort;
  /** A task begins; `host` serves the worker's requests. */
  begin(task: number, host: TaskHost | undefined): void;
  /** Aborts the task in the worker. */
  abort(why: AbortCause): void;
  /** The task has ended: its fetches are aborted. */
  end(): void;
  close(): void;
}

export function createThreadLink(onLog: ((line: LogLine) => void) | undefined): ThreadLink {
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
    port,
    begin(task, host) {
      current = { task, host };
    },
    abort(why) {
      if (current) send({ kind: 'end', task: current.task, why });
      stopFetches();
    },
    end() {
      current = undefined;
      stopFetches();
    },
    close() {
      stopFetches();
      own.close();
    },
  };
}

/** A worker's end of the same link. */
export interface WorkerLink {
  /** A call begins. */
  begin(task: number, ids: CallIds, redactor: Redactor | undefined): CallScope;
  /** It has ended, and with it all that it waits for. */
  end(): void;
}

interface PendingFetch {
  resolve: (fetched: Fetched) => void;
  reject: (error: unknown) => void;
}

export function createWorkerLink(port: MessagePort, logLevel: string): WorkerLink {
  const pending = new Map<number, PendingFetch>();
  let current: WorkerScope | undefined;
  let lastId = 0;

  class WorkerScope extends CallScope {
    readonly task: number;

    constructor(task: number, ids: CallIds, redactor: Redactor | undefined) {
      super(ids, logParts, redactor);
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

  const logParts: LogSink = { logLevel, write: (line) => send({ kind: 'log', line }) };

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
    begin(task, ids, redactor) {
      current = new WorkerScope(task, ids, redactor);
      return current;
    },
    end() {
      current?.end();
      current = undefined;
      if (pending.size > 0) rejectAll(fetchAfterEnd());
    },
  };
}
