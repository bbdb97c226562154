import { type DestinationStream, type Logger, pino } from 'pino';
import { visibleJson } from '../../schemas/quote.js';
import type { LogScreen } from './readable-log.js';

/** The log on a standard stream: readable lines on a terminal, else JSON. */
export async function openLog(level: string, stream: LogScreen & { isTTY?: boolean }): Promise<Logger> {
  if (!stream.isTTY) return stream === process.stderr ? openStderrLog(level) : openJsonLog(level);
  const { readableLog } = await import('./readable-log.js');
  return pino({ level }, readableLog(stream));
}

export function openJsonLog(level: string): Logger {
  // Synchronous; pino ends it quietly when its reader goes away.
  return pino({ level }, batchWrites(jsonLines(1, process.stdout.isTTY)));
}

export function openStderrLog(level: string): Logger {
  return pino({ level }, jsonLines(2, process.stderr.isTTY));
}

/** Text from outside must not control a terminal. */
function jsonLines(dest: 1 | 2, isTTY: boolean): { write(text: string): unknown } {
  const destination = pino.destination({ dest, sync: true });
  return isTTY ? { write: (text) => destination.write(visibleJson(text)) } : destination;
}

/** Characters (bytes of ASCII) that a pipe accepts atomically (POSIX: `PIPE_BUF` on Linux). */
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

  process.on('exit', flush);
  // A listener for exceptions that throws one itself ends the process without "exit".
  process.on('uncaughtExceptionMonitor', flush);
  return {
    write(line) {
      if (gathered.length + line.length > mostAtOnce) flush();
      gathered += line;
      if (due) return;
      due = true;
      setTimeout(() => {
        due = false;
        flush();
      }, batchMs);
    },
  };
}
