import type { Task } from './task.js';

/** The memory of a task that may be moved to its thread, which makes no copy: that of its files, but for what others use as well. */
export function ownBuffers(task: Task): ArrayBuffer[] {
  const files = task.kind === 'call' ? Object.values(task.files ?? {}) : [];
  return files.flatMap(({ bytes, shared }) => (shared ? [] : [bytes.buffer as ArrayBuffer]));
}
