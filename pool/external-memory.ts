import { Session } from 'node:inspector';
import type { Worker } from 'node:worker_threads';

/** Bytes of the SharedArrayBuffers that a thread has made and still holds: V8 counts them for no thread. */
export type SharedBytes = Float64Array;

export function createSharedBytes(): SharedBytes {
  return new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
}

/** Has this thread count each SharedArrayBuffer that is made from now on, until it is collected. */
export function countSharedBuffers(total: SharedBytes): void {
  const add = (bytes: number) => {
    total[0] = (total[0] ?? 0) + bytes;
  };
  const sizes = new WeakMap<object, { bytes: number }>();
  const collected = new FinalizationRegistry<{ bytes: number }>(({ bytes }) => add(-bytes));
  const own = SharedArrayBuffer;
  const counting: typeof SharedArrayBuffer = new Proxy(own, {
    construct(target, given, newTarget) {
      const made = Reflect.construct(target, given, newTarget === counting ? target : newTarget);
      const size = { bytes: made.byteLength };
      sizes.set(made, size);
      collected.register(made, size);
      add(size.bytes);
      return made;
    },
  });
  const { prototype } = own as { prototype: SharedArrayBuffer & { grow?: (length: number) => void } };
  const { grow } = prototype;
  if (grow) {
    prototype.grow = function growAndCount(length) {
      grow.call(this, length);
      const size = sizes.get(this);
      if (!size) return;
      add(this.byteLength - size.bytes);
      size.bytes = this.byteLength;
    };
  }
  prototype.constructor = counting;
  globalThis.SharedArrayBuffer = counting;
}

/**
 * Tells the bytes that a thread holds outside its JavaScript heap: Buffers, other ArrayBuffers, WebAssembly's memory; not
 * what a native library takes, nor SharedArrayBuffers, which the thread counts itself. The thread may be in the middle of an endless loop: V8 interrupts it
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
