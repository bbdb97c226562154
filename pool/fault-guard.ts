import { AsyncLocalStorage } from 'node:async_hooks';
import { codedError } from './coded-error.js';
import { describeThrown, readThrown } from './thrown.js';

export interface GuardOptions {
  /** Whose work it is, for whoever reads of its faults. */
  name: string;
  /** Milliseconds after which the work has failed, if it has not settled by then. It cannot be stopped. */
  timeoutMs?: number;
  /** Takes out of what is told on stderr what nobody may read. */
  hide?: ((text: string) => string) | undefined;
  /** Asked when the time is up: whether nothing is to fail for it, because somebody steps through the code. */
  isPaused?: () => boolean;
  /** Called when the work has failed for its time, which may still be told to end. */
  onTime?: () => void;
  /** Told of a fault that comes when the work has ended already; stderr where nobody wants to know. */
  onLate?: (error: unknown) => void;
}

interface Guarded extends GuardOptions {
  /** Undefined once the work has ended. */
  fail: ((error: unknown) => void) | undefined;
}

const context = new AsyncLocalStorage<Guarded>();
let listening = false;

/**
 * Runs work and fails it for whatever it lets escape from a callback or a promise that nobody waits for, and for settling
 * too late (`helper_timeout`). Each fault is given to the work that it came from, told by its asynchronous context; one
 * that comes after its work has ended is told and costs nobody anything. A fault of nobody's ends the thread as ever.
 */
export function guard<T>(options: GuardOptions, work: () => Promise<T>): Promise<T> {
  listen();
  return new Promise((resolve, reject) => {
    const { name, timeoutMs } = options;
    const guarded: Guarded = { ...options, fail: end };
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs).unref();

    function end(error: unknown): void {
      guarded.fail = undefined;
      clearTimeout(timer);
      reject(error);
    }
    function expire(): void {
      if (options.isPaused?.()) return;
      end(codedError('helper_timeout', `${name} did not settle within ${timeoutMs} ms`));
      options.onTime?.();
    }
    function finish(value: T): void {
      guarded.fail = undefined;
      clearTimeout(timer);
      resolve(value);
    }
    context.run(guarded, () => work().then(finish, end));
  });
}

/** Once a thread: a second listener would take the first one's faults for nobody's. */
function listen(): void {
  if (listening) return;
  listening = true;
  process.on('uncaughtException', (error) => {
    const guarded = context.getStore();
    if (guarded) take(guarded, error);
    // Others who listen judge what is theirs; without any, it ends the thread.
    else if (process.listenerCount('uncaughtException') === 1) throw error;
  });
  guardMicrotasks();
}

function take({ name, fail, onLate, hide = (text) => text }: Guarded, error: unknown): void {
  if (fail) fail(error);
  else if (onLate) onLate(error);
  else {
    const text = hide(describeThrown(readThrown(error)));
    console.error(`helper-gateway: ${name} failed in what it had left running: ${text}`);
  }
}

/** Node 20 has left the asynchronous context of a microtask when it tells of what that one threw. */
function guardMicrotasks(): void {
  const queue = globalThis.queueMicrotask;
  globalThis.queueMicrotask = function queueMicrotask(callback) {
    const guarded = context.getStore();
    if (!guarded || typeof callback !== 'function') return queue(callback);
    queue(() => {
      try {
        callback();
      } catch (error) {
        take(guarded, error);
      }
    });
  };
}
