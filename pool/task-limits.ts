import inspector, { Session } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { EngineName, ImageLimits } from './image/engine.js';

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

/** A worker in Node 22.16 and later; `@types/node` is that of the oldest Node that is supported. */
interface MeasurableWorker {
  getHeapStatistics(): Promise<{ external_memory: number }>;
}

let inspectMemory: ReturnType<typeof createInspectorProbe> | undefined;

/**
 * The bytes that a thread holds outside its JavaScript heap: Buffers, other ArrayBuffers, WebAssembly's memory; not those of native
 * libraries, nor SharedArrayBuffers, which the thread counts itself. V8 interrupts the thread for it, also in an endless loop; a native
 * call answers when it returns. Never settles for a thread that has ended.
 */
async function memoryOf(worker: Worker): Promise<number> {
  if ('getHeapStatistics' in worker) {
    const measurable = worker as unknown as MeasurableWorker;
    return measurable.getHeapStatistics().then(({ external_memory }) => external_memory, never);
  }
  inspectMemory ??= createInspectorProbe();
  return inspectMemory(worker);
}

interface AttachedThread {
  session: string;
  answers: Map<number, (bytes: number) => void>;
}

/** Before Node 22.16, the inspector's protocol is the one way to interrupt a thread. It opens no port. */
function createInspectorProbe(): (worker: Worker) => Promise<number> {
  const session = new Session();
  const threads = new Map<number, AttachedThread>();
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

const probeIntervalMs = 50;
/** Milliseconds to wait for an answer before the next request. */
const probeTimeoutMs = 1_000;

/** Bytes outside the heap, by pixel of the largest picture: sharp decodes in memory of its own, Jimp in several Buffers. */
const perPixel = { sharp: 16, jimp: 40 };

/**
 * Bytes outside the JavaScript heap past which a thread is ended: half a GB, which V8 may leave uncollected, and room for the
 * largest picture. Measured at 40 M pixels: 0.55 GB with sharp from a JPEG, at most 1.8 GB with Jimp over its formats.
 */
export function memoryBound(engine: EngineName, { maxPixels }: ImageLimits): number {
  return 512 * 2 ** 20 + maxPixels * perPixel[engine];
}

export type MemoryWatch = ReturnType<typeof watchMemory>;

interface MemoryWatchOptions {
  bound: number;
  busy: () => boolean;
  onOver: () => void;
  /** What the thread counts itself. */
  shared: SharedBytes;
}

/**
 * Watches a thread for memory that no limit of V8's holds. It looks every 50 ms, which a thread can outrun by what it
 * fills in that time, about a hundred megabytes; it looks once more after a task, for what tasks leave behind.
 */
export function watchMemory(worker: Worker, { bound, busy, onOver, shared }: MemoryWatchOptions) {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** Looks in a moment, and again as long as `busy`. */
  function begin(): void {
    timer ??= setTimeout(look, probeIntervalMs).unref();
  }

  async function look(): Promise<void> {
    const late = sleep(probeTimeoutMs, undefined, { ref: false });
    const bytes = await Promise.race([memoryOf(worker), late]);
    timer = undefined;
    if (stopped) return;
    // Some requests are never answered, such as one to a thread that is just starting: without another the watch would be over.
    if (bytes === undefined) begin();
    else if (bytes + (shared[0] ?? 0) > bound) onOver();
    else if (busy()) begin();
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }

  return { begin, stop };
}

/** Milliseconds in which a handler whose signal was aborted may still end by itself. */
const graceMs = 250;

interface TaskDeadlineOptions {
  /** The time is up: notifies the task, and returns whether it has its grace; false where none runs. */
  onTime: () => boolean;
  /** The task has not ended by itself. */
  onOver: () => void;
}

/** Whether a debugger may be attached to this process: stepping through a handler must not end it. */
export function isInspected(): boolean {
  return inspector.url() !== undefined;
}

/**
 * The deadline of the tasks that a thread runs one after another. One timer, refreshed by each task of the same length: creating one
 * costs as much as a stage. It may fire between two tasks.
 */
export function createTaskDeadline({ onTime, onOver }: TaskDeadlineOptions) {
  let timer: NodeJS.Timeout | undefined;
  let length = 0;
  let grace: NodeJS.Timeout | undefined;

  function expire(): void {
    if (!isInspected() && onTime()) grace = setTimeout(onOver, graceMs).unref();
  }

  /** The task has ended. */
  function end(): void {
    if (grace) clearTimeout(grace);
    grace = undefined;
  }

  return {
    /** A task begins that may take so many milliseconds. */
    begin(ms: number): void {
      if (timer && ms === length) return void timer.refresh();
      clearTimeout(timer);
      length = ms;
      // The port to the worker keeps the process alive while a task runs.
      timer = setTimeout(expire, ms).unref();
    },
    end,
    close(): void {
      clearTimeout(timer);
      end();
    },
  };
}

/** A message to the watchdog's thread. */
export type WatchdogOrder =
  | { kind: 'begin'; id: number; steps: readonly string[]; at: Int32Array; limitMs: number; ends: boolean }
  | { kind: 'end'; id: number }
  | { kind: 'orphan'; supervisor: number };

export interface BlockedOptions {
  /** Milliseconds that it may take. */
  limitMs: number;
  /** Whether the process is ended then; otherwise it is only reported. */
  ends: boolean;
}

let watchdog: Worker | undefined;
let lastId = 0;

/** Nothing else runs while the main thread is in a loop: no timer, no signal's listener. A thread of its own does. */
function sendOrder(message: WatchdogOrder): void {
  if (!watchdog) {
    watchdog = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    // Where it cannot run, what it watches goes on as before.
    watchdog.on('error', () => undefined);
    watchdog.unref();
  }
  watchdog.postMessage(message);
}

/**
 * Reports on stderr which of its steps this process is in, where that has not ended in time, and ends the process if it is to. Works
 * while the main thread is in a loop. To be called on the main thread, once for all steps: an order costs as much as a small module's
 * import. The first step begins with the call, the next one with `next`.
 */
export function watchSteps(steps: readonly string[], { limitMs, ends }: BlockedOptions) {
  // Somebody may look at a breakpoint.
  if (isInspected() || steps.length === 0) return { next: () => undefined, end: () => undefined };
  lastId += 1;
  const id = lastId;
  const at = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  sendOrder({ kind: 'begin', id, steps, at, limitMs, ends });
  return { next: () => void Atomics.add(at, 0, 1), end: () => sendOrder({ kind: 'end', id }) };
}

/** Ends this process soon after the one that supervises it has gone, also where the main thread is in a loop. */
export function endAsOrphan(supervisor: number): void {
  sendOrder({ kind: 'orphan', supervisor });
}
