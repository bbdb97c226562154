import { getPriority, setPriority } from 'node:os';

/**
 * How much nicer a worker thread is than the main thread: of a core that both want it gets a quarter. More helps the main
 * thread little and costs much beside other processes of the host, which the worker yields to as well.
 */
const nicer = 5;
const nicest = 19;

/**
 * Lets the thread that calls yield to the process's others, on Linux; elsewhere it does nothing, for there a thread's priority
 * is the whole process's. What may not be is left: the work is the same.
 */
export function yieldToOthers({ platform = process.platform, set = setPriority } = {}): void {
  if (platform !== 'linux') return;
  try {
    // Linux counts a priority by thread, and 0 is the one that asks (setpriority(2), "C library/kernel differences").
    set(0, Math.min(nicest, getPriority(0) + nicer));
  } catch {
    // A sandbox may forbid it.
  }
}
