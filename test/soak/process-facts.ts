import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** What the kernel reports of a process, in megabytes and descriptors; undefined where there is no /proc, or no process. */
export function factsOf(pid: number) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024;
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    /** The peak is since `resetPeak`. */
    return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM'), descriptors };
  } catch {
    return undefined;
  }
}

/** Has the kernel count a process's peak from now on. */
export function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Without it the peak is that of the process's life, which only makes the judgement harder.
  }
}

/** Milliseconds for which a process's main thread has waited for a processor that others used, since its start. */
export function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
