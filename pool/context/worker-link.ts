import type { MessagePort } from 'node:worker_threads';
import { CallScope } from './call-scope.js';
import { fetchAfterEnd, fetchError } from './fetch-error.js';
import type { CallIds, LogParts } from './log-parts.js';
import type { Fetched, FetchRequest, FromThread, ToThread } from './messages.js';
import type { Redactor } from './secrets.js';

/** A worker's end of what it and the main thread say to each other while a task runs. */
export interface WorkerLink {
  /** A call begins. */
  begin(task: number, ids: CallIds, redactor: Redactor | undefined): CallScope;
  /** It has ended, and with it all that it waits for. */
  end(): void;
}

interface Asked {
  resolve: (fetched: Fetched) => void;
  reject: (error: unknown) => void;
}

export function createWorkerLink(port: MessagePort, logLevel: string): WorkerLink {
  const asked = new Map<number, Asked>();
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

  const logParts: LogParts = { logLevel, write: (line) => say({ kind: 'log', line }) };

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
