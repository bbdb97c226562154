import { AsyncLocalStorage } from 'node:async_hooks';

interface Guarded {
  name: string;
  /** Undefined once the work has ended. */
  fail: ((error: unknown) => void) | undefined;
}

/** Runs work, and fails it for whatever it lets escape from a callback or a promise that nobody waits for. */
export type FaultGuard = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * Gives each escaped fault to the work that it came from, told by its asynchronous context. A fault that comes after its work
 * has been answered would otherwise end the thread, and with it the task of somebody else that runs there by then; it
 * is told on stderr instead. A fault of nobody's ends the thread as ever. To be made once a thread.
 */
export function createFaultGuard(): FaultGuard {
  const context = new AsyncLocalStorage<Guarded>();
  process.on('uncaughtException', (error) => {
    const guarded = context.getStore();
    if (!guarded) throw error;
    if (guarded.fail) guarded.fail(error);
    else console.error(`helper-gateway: ${guarded.name} failed after its answer:`, error);
  });

  return function guard(name, work) {
    return new Promise((resolve, reject) => {
      const guarded: Guarded = { name, fail: reject };
      const ended = () => {
        guarded.fail = undefined;
      };
      context.run(guarded, () => work().then(resolve, reject).finally(ended));
    });
  };
}
