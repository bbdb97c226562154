import { createWorkers, type Workers, type WorkersOptions } from './workers.js';

/**
 * Threads that have loaded the same versions of the same plugins. A plugin that was edited is loaded into a new group, and
 * the calls that began before end in the old one.
 */
export interface Group extends Pick<Workers, 'retain'> {
  readonly threads: Workers;
  /** Says that a call has begun that may need these threads: they stay until as many have left. */
  enter(): void;
  leave(): void;
  /** Says that no more calls will begin here; resolves when the last one has left and the threads have ended. */
  retire(): Promise<void>;
  /** Ends the threads, whatever goes on. */
  close(): Promise<void>;
}

export interface GroupOptions extends WorkersOptions {
  /** Called once, when it ends. */
  onClose: (group: Group) => void;
}

/** Makes a group whose threads are still to be started. */
export function createGroup({ onClose, ...options }: GroupOptions): Group {
  const threads = createWorkers(options);
  const left: (() => void)[] = [];
  let calls = 0;
  let closed: Promise<void> | undefined;

  const group: Group = {
    threads,
    retain: threads.retain,
    enter() {
      calls += 1;
    },
    leave() {
      calls -= 1;
      if (calls === 0) for (const tell of left.splice(0)) tell();
    },
    async retire() {
      if (calls > 0) await new Promise<void>((resolve) => left.push(resolve));
      await group.close();
    },
    close() {
      closed ??= threads.close().finally(() => onClose(group));
      return closed;
    },
  };
  return group;
}
