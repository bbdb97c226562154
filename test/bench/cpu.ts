import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, whatever the processor: a round has to last for a good many of them. */
const tickMs = 10;

/** Milliseconds of processor time of this process, all its threads. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of processor time of another process, all its threads. */
export function cpuMsOf(pid: number): number {
  // The second field is the program's name, in brackets, and may itself have blanks and brackets in it.
  const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Milliseconds of processor time of a process's main thread: on a busy machine the clock tells how long others ran. Linux only. */
export function mainThreadMs(pid = process.pid): number {
  const schedule = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1');
  return Number(schedule.split(' ')[0]) / 1e6;
}
