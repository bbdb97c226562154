import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';

/**
 * Lets a process go on where whoever read its output has gone, as in `tenants list | head -1`: nobody misses the rest, and
 * what is open has to be closed all the same; of a terminal that was closed the code is EIO. Any other error of the stream is thrown on.
 */
export function ignoreClosedPipe(stream: Writable): void {
  stream.on('error', function onOutputError(error: NodeJS.ErrnoException) {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

/**
 * From now on what is printed goes to standard error: plugins print while they are imported, and standard output is to hold
 * the result alone. Gives how to write there all the same.
 */
export function reserveStdout(): { write(data: string | Uint8Array): unknown; isTTY: boolean } {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return { write: (data) => write(data), isTTY: stdout.isTTY };
}

/** Milliseconds after which the process ends whatever is still open. */
const lingerMs = 1_000;

/** For commands that have loaded plugins: one may keep something open for ever, such as a timer or a connection; nobody closes it here. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}

/**
 * How a person calls the command line again, for hints. `npx helper-gateway` is right in a checkout and where the package is
 * installed; of what npx runs from a tarball it keeps a copy of its own, and notes beside it what was asked for. Nobody is told to
 * ask the registry for that name, which is not ours.
 */
export function commandName(module = import.meta.url): string {
  const [, kept] = /^(.*\/_npx\/[^/]+\/)node_modules\//.exec(module) ?? [];
  const asked = kept === undefined ? undefined : requestedPackage(new URL('package.json', kept));
  return `npx ${asked ?? 'helper-gateway'}`;
}

function requestedPackage(note: URL): string | undefined {
  try {
    const { _npx } = JSON.parse(readFileSync(note, 'utf8')) as { _npx?: { packages?: string[] } };
    return _npx?.packages?.[0];
  } catch {
    return undefined;
  }
}

const plain = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** A text as one word of a POSIX shell's command line. */
export function quoteWord(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
