import { Session } from 'node:inspector';
import type { Worker } from 'node:worker_threads';

/**
 * Tells the bytes that a thread holds outside its JavaScript heap: Buffers, other ArrayBuffers, WebAssembly's memory; not
 * what a native library or a SharedArrayBuffer takes. The thread may be in the middle of an endless loop: V8 interrupts it
 * to ask. Inside a native call it answers when that returns. Never settles for a thread that has ended.
 */
export type MemoryProbe = (worker: Worker) => Promise<number>;

/** Node 22.16 and later; `@types/node` is that of the oldest Node that is supported. */
interface AskedWorker {
  getHeapStatistics(): Promise<{ external_memory: number }>;
}

/** The probe that this Node has. */
export function createMemoryProbe(): MemoryProbe {
  let inspect: MemoryProbe | undefined;
  return function probe(worker) {
    if ('getHeapStatistics' in worker) {
      return (worker as unknown as AskedWorker)
        .getHeapStatistics()
        .then(({ external_memory }) => external_memory, never);
    }
    inspect ??= createInspectorProbe();
    return inspect(worker);
  };
}

interface Attached {
  session: string;
  answers: Map<number, (bytes: number) => void>;
}

/** Before that, the inspector's protocol is the one way to interrupt a thread. It opens no port. */
function createInspectorProbe(): MemoryProbe {
  const session = new Session();
  const threads = new Map<number, Attached>();
  let asked = 0;

  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    const thread = Number(/^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]);
    threads.set(thread, { session: sessionId, answers: new Map() });
  });
  session.on('NodeWorker.detachedFromWorker', ({ params }) => {
    for (const [thread, { session }] of threads) if (session === params.sessionId) threads.delete(thread);
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    const { id, result } = JSON.parse(params.message) as {
      id: number;
      result?: { result?: { value?: unknown } };
    };
    const bytes = result?.result?.value;
    for (const { session, answers } of threads.values()) {
      if (session !== params.sessionId) continue;
      if (typeof bytes === 'number') answers.get(id)?.(bytes);
      answers.delete(id);
    }
  });
  session.connect();
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });

  return function inspect({ threadId }) {
    const attached = threads.get(threadId);
    if (!attached) return never();
    asked += 1;
    const id = asked;
    const params = { expression: 'process.memoryUsage().external', returnByValue: true };
    const message = JSON.stringify({ id, method: 'Runtime.evaluate', params });
    session.post('NodeWorker.sendMessageToWorker', { sessionId: attached.session, message });
    return new Promise((resolve) => attached.answers.set(id, resolve));
  };
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
