import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const maps = new Map<string, SourceMap | undefined>();

/**
 * Has the stacks of this thread's errors name the source files and lines that bundled code was made of. Node's own
 * `--enable-source-maps` reads each map when its module is loaded, which costs a start a quarter more; here a map is read when
 * the first stack needs it.
 */
export function nameSources(): void {
  Error.prepareStackTrace = (error, calls) => {
    const lines = calls.map((call) => `\n    at ${namePlaces(String(call))}`);
    return `${headOf(error)}${lines.join('')}`;
  };
}

function headOf(error: unknown): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'an error that cannot be read';
  }
}

function namePlaces(call: string): string {
  return call.replace(
    /(file:\/\/[^\s()]*?\.js):(\d+):(\d+)/g,
    (found, url, line, column) => sourceOf(url, Number(line) - 1, Number(column) - 1) ?? found,
  );
}

function sourceOf(url: string, line: number, column: number): string | undefined {
  try {
    const file = fileURLToPath(url);
    const entry = mapOf(file)?.findEntry(line, column);
    if (!entry || !('originalSource' in entry)) return undefined;
    const source = resolve(dirname(file), entry.originalSource);
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  } catch {
    // A stack with the bundle's own lines is better than none.
    return undefined;
  }
}

/** Undefined where a module has none: a plugin from outside, or a package's. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const map = `${file}.map`;
    maps.set(file, existsSync(map) ? new SourceMap(JSON.parse(readFileSync(map, 'utf8'))) : undefined);
  }
  return maps.get(file);
}
