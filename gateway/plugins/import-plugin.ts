import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { describeReason, readThrown } from '../../pool/errors.js';
import { importPlugin, importTimeoutMs } from '../../pool/plugin.js';
import { type BlockedOptions, watchSteps } from '../../pool/task-limits.js';
import { writtenForm } from '../../schemas/declared-helper.js';
import { describeValue, visible } from '../../schemas/quote.js';
import type { FoundPlugin } from './discover.js';
import { loadHint, placeOfSyntaxError } from './hints.js';

/** Milliseconds between the limit of an import that waits and the end of a process that is blocked in one. */
const blockedGraceMs = 2_000;

/**
 * Imports a plugin's declaration; throws an `Error` for the operator. A module that ends the process while it loads, or never finishes loading, is named on stderr.
 * `onLate` gets errors that escape it later.
 */
export async function importDeclaration(
  { id, file, shipped }: FoundPlugin & { shipped?: boolean },
  options: { timeoutMs?: number; onLate?: ((error: unknown) => void) | undefined; isWatched?: boolean } = {},
): Promise<{ url: string; declaration: unknown }> {
  const url = pathToFileURL(file).href;
  const { timeoutMs = importTimeoutMs, onLate, isWatched = shipped === true } = options;
  const load = () => importPlugin({ service: id, url, shipped }, { timeoutMs, ...(onLate && { onLate }) });
  // An import that waits times out before; only this ends one that computes without end.
  const blocked = isWatched ? undefined : { limitMs: timeoutMs + blockedGraceMs, ends: true };
  const declaration = await reportExitDuring(importing(file), load, blocked).catch((error) => {
    throw new Error(`cannot be loaded: ${describe(error, file)}`, { cause: error });
  });
  if (declaration !== undefined) return { url, declaration };
  throw new Error(
    `has no default export: write "${writtenForm}" (or begin its name with "_" if it is no plugin)`,
  );
}

/** Starts one watch for plugins that are imported one after another with `isWatched`. */
export function watchImports(files: readonly string[]): ReturnType<typeof watchSteps> {
  const steps = isMainThread ? files.map((file) => visible(importing(file))) : [];
  return watchSteps(steps, { limitMs: importTimeoutMs + blockedGraceMs, ends: true });
}

function importing(file: string): string {
  return `loading the plugin ${file}`;
}

/** The error's message, with its place in the file where that is known. */
function describe(error: unknown, file: string): string {
  if (!(error instanceof Error))
    return `it threw ${describeValue(error)}, and no Error, so its place is unknown`;
  // Stacks have the targets of links.
  const folder = pathToFileURL(dirname(realpathSync(file))).href;
  // Only the plugin's own frames help its author.
  const frames = error.stack?.split('\n').filter((line) => line.includes(folder)) ?? [];
  const frame = frames.find((line) => /:\d+\)?$/.test(line.trim()));
  const place =
    frame?.trim().replace(/^at /, '') ??
    (error instanceof SyntaxError ? placeOfSyntaxError(error, file) : '');
  const own = `${error.name}: ${error.message}${loadHint(error)}${place ? ` (${place})` : ''}`;
  const { causes = [] } = readThrown(error);
  return [own, ...causes.map((cause) => `caused by ${describeReason(cause)}`)].join('\n');
}

/**
 * Runs a plugin's code, which may end the process or leave nothing that keeps it running. Both would end the start silently, so
 * `doing` is printed to stderr then, and the exit code is 1; so is work that is `blocked` for too long by an endless loop. In a
 * worker, the parent reports these.
 */
export async function reportExitDuring<T>(
  doing: string,
  work: () => Promise<T>,
  blocked?: BlockedOptions,
): Promise<T> {
  if (!isMainThread) return work();
  const watch = blocked && watchSteps([visible(doing)], blocked);
  const report = () => {
    console.error(visible(`helper-gateway: the process ended while ${doing}`));
    process.exitCode = 1;
  };
  process.once('exit', report);
  try {
    return await work();
  } finally {
    watch?.end();
    process.off('exit', report);
  }
}
