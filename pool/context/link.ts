import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { CallScope, type Redactor } from './call-scope.js';
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

/** The main thread's end of what it and a worker say to each other while a task runs. */
interface ThreadLink {
  /** The other end, to be moved to the worker. */
  readonly port: MessagePort;
  /** A task begins; what the worker asks is asked of `host`. */
  begin(task: number, host: TaskHost | undefined): void;
  /** Tells the worker that the task is given up. */
  abort(why: AbortCause): void;
  /** The task has ended: what is fetched for it is not wanted any more. */
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
      // Nobody waits for the answer to what was ended here.
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

/** A worker's end of what it and the main thread say to each other while a task runs. */
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
  const asked = new Map<number, PendingFetch>();
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
        asked.set(lastId, { resolve, reject });
        say({ kind: 'fetch', task: this.task, id: lastId, request });
      });
    }
  }

  const logParts: LogSink = { logLevel, write: (line) => say({ kind: 'log', line }) };

  port.on('message', (message: ToThread) => {
    if (message.task !== current?.task) return;
    if (message.kind === 'end') {
      current.abort(message.why);
      rejectAll(current.reason);
      return;
    }
    const waits = asked.get(message.id);
    asked.delete(message.id);
    if (message.kind === 'fetched') waits?.resolve(message.fetched);
    else waits?.reject(fetchError(message.refusal));
  });
  // Piscina's port is what keeps the thread alive.
  port.unref();

  function say(message: FromThread): void {
    port.postMessage(message);
  }

  function rejectAll(reason: unknown): void {
    for (const { reject } of asked.values()) reject(reason);
    asked.clear();
  }

  return {
    begin(task, ids, redactor) {
      current = new WorkerScope(task, ids, redactor);
      return current;
    },
    end() {
      current?.end();
      current = undefined;
      if (asked.size > 0) rejectAll(fetchAfterEnd());
    },
  };
}
