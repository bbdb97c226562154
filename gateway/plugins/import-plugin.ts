import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { readThrown, type Thrown } from '../../pool/errors.js';
import { importPlugin, importTimeoutMs } from '../../pool/plugin.js';
import { type BlockedOptions, type WatchedSteps, watchBlocked, watchSteps } from '../../pool/time-limits.js';
import { writtenForm } from '../../schemas/declared-helper.js';
import { describeValue, visible } from '../../schemas/quote.js';
import type { FoundPlugin } from './discover.js';
import { loadHint, placeOfSyntaxError } from './hints.js';

/** Between the limit of an import that waits and the end of a process that is blocked in one. */
const blockedGraceMs = 2_000;

/** A plugin's module that could not be imported. `message` says why, for the operator. */
class PluginImportError extends Error {}

/**
 * Imports a plugin's declaration. A module that ends the process while it loads, or never finishes loading, is named
 * on stderr. What it lets escape later is told to `onLate`.
 */
export async function importDeclaration(
  { id, file, shipped }: FoundPlugin & { shipped?: boolean },
  options: { timeoutMs?: number; onLate?: ((error: unknown) => void) | undefined; isWatched?: boolean } = {},
): Promise<{ url: string; declaration: unknown }> {
  const url = pathToFileURL(file).href;
  try {
    const { timeoutMs = importTimeoutMs, onLate, isWatched = shipped === true } = options;
    const load = () => importPlugin({ service: id, url, shipped }, { timeoutMs, ...(onLate && { onLate }) });
    // One that waits fails by itself before; one that computes without end is found by nothing else.
    const blocked = isWatched ? undefined : { limitMs: timeoutMs + blockedGraceMs, ends: true };
    const declaration: unknown = await reportExitDuring(importing(file), load, blocked);
    if (declaration === undefined) {
      throw new PluginImportError(
        `has no default export: write "${writtenForm}" (or begin its name with "_" if it is no plugin)`,
      );
    }
    return { url, declaration };
  } catch (error) {
    if (error instanceof PluginImportError) throw error;
    throw new PluginImportError(`cannot be loaded: ${describe(error, file)}`, { cause: error });
  }
}

/** Watches plugins that are imported one after the other, each with `isWatched`, by one order for all of them. */
export function watchImports(files: readonly string[]): WatchedSteps {
  const steps = isMainThread ? files.map((file) => visible(importing(file))) : [];
  return watchSteps(steps, { limitMs: importTimeoutMs + blockedGraceMs, ends: true });
}

function importing(file: string): string {
  return `loading the plugin ${file}`;
}

/** The message, with the place in the file where that can be told. */
function describe(error: unknown, file: string): string {
  if (!(error instanceof Error))
    return `it threw ${describeValue(error)}, and no Error, so nothing tells where`;
  // Node names a module by where links lead to.
  const folder = pathToFileURL(dirname(realpathSync(file))).href;
  // The plugin's own frames: those of the loader and of the gateway help nobody.
  const frames = error.stack?.split('\n').filter((line) => line.includes(folder)) ?? [];
  const frame = frames.find((line) => /:\d+\)?$/.test(line.trim()));
  const place =
    frame?.trim().replace(/^at /, '') ??
    (error instanceof SyntaxError ? placeOfSyntaxError(error, file) : '');
  const own = `${error.name}: ${error.message}${loadHint(error)}${place ? ` (${place})` : ''}`;
  return [own, ...causesOf(readThrown(error))].join('\n');
}

/** A line for each error that is said to have caused this one, and for their causes. */
function causesOf({ causes = [] }: Thrown): string[] {
  return causes.flatMap((cause) => [
    `caused by ${cause.name ?? 'a value'}: ${cause.message}`,
    ...causesOf(cause),
  ]);
}

/**
 * Does what a plugin's code may end the process in, or leave without anything that keeps it running: either would end the start
 * without a word. Then `doing` is said on stderr, and the exit code is 1.
 * A worker's end is told by its parent. Work that is `blocked` for too long, by a loop that never ends, is named too.
 */
export async function reportExitDuring<T>(
  doing: string,
  work: () => Promise<T>,
  blocked?: BlockedOptions,
): Promise<T> {
  if (!isMainThread) return work();
  const unwatch = blocked && watchBlocked(visible(doing), blocked);
  const name = () => {
    console.error(visible(`helper-gateway: the process ended while ${doing}`));
    process.exitCode = 1;
  };
  process.once('exit', name);
  try {
    return await work();
  } finally {
    unwatch?.();
    process.off('exit', name);
  }
}
