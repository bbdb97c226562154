import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** What the command line reads of the package: it lies among the sources, and not in what is built of them. */
export const commandAssets = new URL(
  'gateway/commands/assets/',
  import.meta.resolve('helper-gateway/package.json'),
);

/** The command's script. */
export const bin = fileURLToPath(new URL('../../bin.cjs', commandAssets));

/** Lets a process go on when the reader of its output is gone (EPIPE; EIO for a closed terminal), to close parts. */
export function ignoreClosedPipe(stream: Writable): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

/** Redirects what plugins print to standard error. Gives the real standard output, for the result alone. */
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

/** How a person calls the command line again. A tarball that npx runs is copied, and its name is noted beside it. */
export function commandName(module = import.meta.url): string {
  const [, copy] = /^(.*\/_npx\/[^/]+\/)node_modules\//.exec(module) ?? [];
  try {
    const note = copy && JSON.parse(readFileSync(new URL('package.json', copy), 'utf8'));
    return `npx ${note?._npx?.packages?.[0] ?? 'helper-gateway'}`;
  } catch {
    return 'npx helper-gateway';
  }
}

/** A text as one word of a POSIX shell's command line. */
export function quoteWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
