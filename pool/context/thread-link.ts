import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Ending, FromThread, LogLine, ToThread } from './messages.js';
import { codeOf, type TaskHost } from './task-host.js';

/** The main thread's end of what it and a worker say to each other while a task runs. */
export interface ThreadLink {
  /** The other end, to be moved to the worker. */
  readonly port: MessagePort;
  /** A task begins; what the worker asks is asked of `host`. */
  begin(task: number, host: TaskHost | undefined): void;
  /** Tells the worker that the task is given up. */
  abort(why: Ending): void;
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
      if (!signal.aborted) send({ kind: 'refused', task, id, refusal: codeOf(error) });
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
