import type { Job } from './jobs.js';
import type { Outcome } from './outcome.js';
import { errorLines, lineOf, printJson, printText, type Screen } from './print.js';

/** Milliseconds between two looks of the progress line. */
const refreshMs = 100;

export interface ManyOptions {
  jobs: readonly Job[];
  /** Calls under way at a time. */
  most: number;
  call(job: Job): Promise<Outcome>;
  signal: AbortSignal;
  screen: Screen;
  json: boolean;
}

/**
 * Makes the calls of many files, some at a time, and gives how many failed: those cost the others nothing. On a terminal one line
 * tells how far it is, and each file that failed has its own; else, and where results are data, each file has a line of JSON.
 */
export async function callMany({ jobs, most, call, signal, screen, json }: ManyOptions): Promise<number> {
  const watched = screen.stderr.isTTY === true && !json;
  const progress = createProgress(jobs.length, screen.stderr);
  const left = jobs.values();
  let failed = 0;

  async function work(): Promise<void> {
    for (const job of left) {
      if (signal.aborted) return;
      const outcome = await call(job);
      // What was given up has not failed.
      if (!outcome.ok && signal.aborted) return;
      if (!outcome.ok) failed += 1;
      if (watched) progress.clear();
      tell(outcome);
      if (watched) progress.advance(failed);
    }
  }

  function tell(outcome: Outcome): void {
    const isPlain = outcome.ok && 'out' in outcome.result;
    if (!watched || (outcome.ok && !isPlain)) printJson(screen.stdout, lineOf(outcome));
    else if (!outcome.ok) printText(screen.stderr, `${outcome.file}: ${errorLines(outcome)}`);
  }

  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, work));
  if (watched) progress.finish(failed);
  return failed;
}

interface Progress {
  clear(): void;
  advance(failed: number): void;
  finish(failed: number): void;
}

function createProgress(total: number, stderr: Screen['stderr']): Progress {
  const began = Date.now();
  let done = 0;
  let drawn = false;
  let last = 0;

  function draw(failed: number): void {
    const seconds = Math.max((Date.now() - began) / 1000, 0.001);
    const faults = failed > 0 ? `, ${failed} failed` : '';
    stderr.write(`\r\x1b[K${done} of ${total} files${faults}, ${(done / seconds).toFixed(1)} a second`);
    drawn = true;
  }

  return {
    clear() {
      if (drawn) stderr.write('\r\x1b[K');
      drawn = false;
    },
    advance(failed) {
      done += 1;
      if (Date.now() - last < refreshMs && done < total) return;
      last = Date.now();
      draw(failed);
    },
    finish(failed) {
      draw(failed);
      stderr.write('\n');
    },
  };
}
