import { type DestinationStream, type Logger, pino } from 'pino';
import { visibleJson } from '../../schemas/quote.js';
import type { LogScreen } from './readable-log.js';

/** Opens the log on standard output: lines for people on a terminal, JSON for what collects logs. */
export async function openLog(level: string, stdout: LogScreen & { isTTY?: boolean }): Promise<Logger> {
  if (!stdout.isTTY) return openJsonLog(level);
  // Only here, as most gateways never need it.
  const { readableLog } = await import('./readable-log.js');
  return pino({ level }, readableLog(stdout));
}

/** The log as JSON lines on standard output, whatever that is. */
export function openJsonLog(level: string): Logger {
  // Written to at once; pino ends it quietly where its reader has gone.
  return pino({ level }, batchWrites(jsonLines(1, process.stdout.isTTY)));
}

/** The log as JSON lines on standard error, where standard output is for something else. */
export function openStderrLog(level: string): Logger {
  return pino({ level }, jsonLines(2, process.stderr.isTTY));
}

/** What came from outside stands in the log, and must not control a terminal. */
function jsonLines(dest: 1 | 2, isTTY: boolean): { write(text: string): unknown } {
  const destination = pino.destination({ dest, sync: true });
  return isTTY ? { write: (text) => destination.write(visibleJson(text)) } : destination;
}

/** Characters, and for ASCII bytes, that a pipe takes in one piece whoever else writes to it (POSIX: `PIPE_BUF` on Linux). */
const mostAtOnce = 4096;

/** How long a line may wait for others. */
const batchMs = 10;

/**
 * Writes the lines of 10 ms together: a line costs less than the system call that writes it, which also wakes the reader. Nothing is
 * lost when the process ends by itself, by `process.exit` or of an exception; only SIGKILL and the like take those lines along. Lines
 * of 4 KB and less are never torn apart.
 */
export function batchWrites(destination: { write(text: string): unknown }): DestinationStream {
  let gathered = '';
  let due = false;

  function flush(): void {
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    destination.write(text);
  }

  function flushBatch(): void {
    due = false;
    flush();
  }

  process.on('exit', flush);
  // A listener for exceptions that throws one itself ends the process without "exit".
  process.on('uncaughtExceptionMonitor', flush);
  return {
    write(line) {
      if (gathered.length + line.length > mostAtOnce) flush();
      gathered += line;
      if (due) return;
      due = true;
      setTimeout(flushBatch, batchMs);
    },
  };
}
