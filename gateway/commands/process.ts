import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';

/**
 * Lets a process go on when the reader of its output has closed it, as in `tenants list | head -1`, so that it closes what is open.
 * A closed terminal gives EIO. Any other error of the stream is thrown.
 */
export function ignoreClosedPipe(stream: Writable): void {
  stream.on('error', function onOutputError(error: NodeJS.ErrnoException) {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

/**
 * Redirects what is printed to standard error from now on: plugins print while they are imported, and standard output holds the
 * result alone. Gives the real standard output.
 */
export function reserveStdout(): { write(data: string | Uint8Array): unknown; isTTY: boolean } {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return { write: (data) => write(data), isTTY: stdout.isTTY };
}

/** Aborts at the first SIGINT. A second one ends the process. */
export function interruptSignal(): AbortSignal {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  return interrupted.signal;
}

/** Ends the process in a second. For commands that have loaded plugins, which may keep timers or connections open for ever. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), 1_000).unref();
}

/**
 * How a person calls the command line again, for hints. `npx helper-gateway` is right in a checkout and where the package is
 * installed. A tarball that npx runs is copied, and the name that was asked for is noted beside it: the registry's package of our
 * name is not ours.
 */
export function commandName(module = import.meta.url): string {
  const [, copy] = /^(.*\/_npx\/[^/]+\/)node_modules\//.exec(module) ?? [];
  const requested = copy && requestedPackage(new URL('package.json', copy));
  return `npx ${requested ?? 'helper-gateway'}`;
}

function requestedPackage(note: URL): string | undefined {
  try {
    const { _npx } = JSON.parse(readFileSync(note, 'utf8')) as { _npx?: { packages?: string[] } };
    return _npx?.packages?.[0];
  } catch {
    return undefined;
  }
}

/** A text as one word of a POSIX shell's command line. */
export function quoteWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
