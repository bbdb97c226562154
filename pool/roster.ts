import type { Task } from './task.js';
import type { Thread } from './thread.js';

/** The threads of a group that can run tasks. */
export interface Roster {
  add(thread: Thread): void;
  /** Takes a thread out, which is closed when it has no task. */
  dismiss(thread: Thread): void;
  /** Says that a task of this thread has ended. */
  free(thread: Thread): void;
  /** Takes a thread out; false where it was not one of these. */
  remove(thread: Thread): boolean;
  all(): readonly Thread[];
  /** Busy ones included. */
  size(): number;
  idle(): number;
  /** Whether any can run the task, be it busy. */
  knows(task: Task): boolean;
  /** Whether one that is idle can. */
  isFree(task: Task): boolean;
  /** Takes one that is idle and can. */
  take(task: Task): Thread | undefined;
  /** One that is idle, and could run it once it has loaded the plugin. */
  couldLoad(task: Task): Thread | undefined;
}

/** `close` ends a thread that was dismissed. */
export function createRoster(close: (thread: Thread) => Promise<void>): Roster {
  const working = new Set<Thread>();
  const idle: Thread[] = [];
  const leaving = new Set<Thread>();

  function dropIdle(thread: Thread): boolean {
    const at = idle.indexOf(thread);
    if (at !== -1) idle.splice(at, 1);
    return at !== -1;
  }

  return {
    add(thread) {
      working.add(thread);
      idle.push(thread);
    },
    dismiss(thread) {
      if (!working.delete(thread)) return;
      if (dropIdle(thread)) void close(thread);
      else leaving.add(thread);
    },
    free(thread) {
      if (leaving.delete(thread)) void close(thread);
      else if (working.has(thread)) idle.push(thread);
    },
    remove(thread) {
      leaving.delete(thread);
      dropIdle(thread);
      return working.delete(thread);
    },
    all: () => [...working],
    size: () => working.size,
    idle: () => idle.length,
    knows: (task) => [...working].some((thread) => canRun(thread, task)),
    isFree: (task) => idle.some((thread) => canRun(thread, task)),
    take(task) {
      const last = idle.at(-1);
      if (last && canRun(last, task)) return idle.pop();
      const other = idle.find((thread) => canRun(thread, task));
      if (other) dropIdle(other);
      return other;
    },
    couldLoad: (task) => idle.find(({ unloaded }) => task.kind === 'call' && unloaded.has(task.plugin)),
  };
}

function canRun({ lacking, unloaded }: Thread, task: Task): boolean {
  return task.kind !== 'call' || !(lacking.has(task.plugin) || unloaded.has(task.plugin));
}
