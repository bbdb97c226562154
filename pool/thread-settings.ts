import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { getPriority, setPriority } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const sourceMaps = new Map<string, SourceMap | undefined>();

/**
 * Has the stacks of this thread's errors name the source files and lines that bundled code was made of. Node's own
 * `--enable-source-maps` reads each map when its module is loaded, which costs a start a quarter more; here a map is read when
 * the first stack needs it.
 */
export function mapStackTraces(): void {
  Error.prepareStackTrace = (error, calls) => {
    const lines = calls.map((call) => `\n    at ${nameSources(String(call))}`);
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

function nameSources(call: string): string {
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
  if (!sourceMaps.has(file)) {
    const map = `${file}.map`;
    sourceMaps.set(file, existsSync(map) ? new SourceMap(JSON.parse(readFileSync(map, 'utf8'))) : undefined);
  }
  return sourceMaps.get(file);
}

/**
 * How much nicer a worker thread is than the main thread: of a core that both want it gets a quarter. More helps the main
 * thread little and costs much beside other processes of the host, which the worker yields to as well.
 */
const nicer = 5;
const nicest = 19;

/** Lets the calling thread yield to the process's others, on Linux; elsewhere a thread's priority is the whole process's. */
export function lowerPriority({ platform = process.platform, set = setPriority } = {}): void {
  if (platform !== 'linux') return;
  try {
    // Linux counts a priority by thread, and 0 is the calling one (setpriority(2), "C library/kernel differences").
    set(0, Math.min(nicest, getPriority(0) + nicer));
  } catch {
    // A sandbox may forbid it.
  }
}

/**
 * What is written into `Object.prototype` is in every object of its thread, for the calls of all tenants: a careless merge of an input
 * that holds `__proto__` is enough. So nothing can be added to it or removed, and what was overwritten is put back after each call.
 * Its members stay writable: read-only ones would make `thing.toString = …` fail for every other object.
 */
const objectPrototype = Object.prototype as unknown as Record<string, unknown>;
const originalMembers = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).flatMap(
  ([name, { value }]): [string, unknown][] => (value === undefined ? [] : [[name, value]]),
);

/** To be called before a plugin is imported, in each thread where plugins run. */
export function sealObjectPrototype(): void {
  Object.seal(Object.prototype);
}

/** Puts back what a helper has overwritten, and names the helper on stderr. */
export function restoreObjectPrototype(service: string): void {
  for (const [name, value] of originalMembers) {
    if (objectPrototype[name] === value) continue;
    try {
      objectPrototype[name] = value;
    } catch {
      // It was made read-only, on purpose: that cannot be undone.
      continue;
    }
    console.error(`helper-gateway: ${service} has overwritten Object.prototype.${name}; it is put back`);
  }
}
