import type { DestinationStream } from 'pino';

/** Characters, and for ASCII bytes, that a pipe takes in one piece whoever else writes to it (POSIX: `PIPE_BUF` on Linux). */
const mostAtOnce = 4096;

/**
 * Gathers what is logged in one turn of the event loop and writes it at its end: a line costs less than the system call that
 * writes it. Nothing is lost when the process ends by itself, by `process.exit` or of an exception; only what ends it without a
 * word (SIGKILL, memory) takes that turn's lines along. Lines of 4 KB and less are never torn apart.
 */
export function writeByTurn(destination: { write(text: string): unknown }): DestinationStream {
  let gathered = '';
  let due = false;

  function flush(): void {
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    destination.write(text);
  }
  function turn(): void {
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
      setImmediate(turn);
    },
  };
}
