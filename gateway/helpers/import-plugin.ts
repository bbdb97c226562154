import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { importPlugin } from '../../pool/plugin-module.js';
import { readThrown, type Thrown } from '../../pool/thrown.js';
import type { FoundPlugin } from './discover.js';
import { nameAtExit } from './name-at-exit.js';

/** A plugin's module that could not be imported. `message` says why, for the operator. */
export class PluginImportError extends Error {}

/**
 * Imports a plugin's declaration. A module that ends the process while it loads, or never finishes loading, is named
 * on stderr. What it lets escape later is told to `onLate`.
 */
export async function importDeclaration(
  { id, file, shipped }: FoundPlugin & { shipped?: boolean },
  options: { timeoutMs?: number; onLate?: (error: unknown) => void } = {},
): Promise<{ url: string; declaration: unknown }> {
  const url = pathToFileURL(file).href;
  try {
    const load = () => importPlugin({ service: id, url, shipped }, options);
    const declaration: unknown = await nameAtExit(`loading the plugin ${file}`, load);
    if (declaration === undefined) {
      throw new PluginImportError('has no default export: write "export default { … }"');
    }
    return { url, declaration };
  } catch (error) {
    if (error instanceof PluginImportError) throw error;
    throw new PluginImportError(`cannot be loaded: ${describe(error, file)}`, { cause: error });
  }
}

/** The message, with the place in the file where that can be told. */
function describe(error: unknown, file: string): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const folder = pathToFileURL(dirname(file)).href;
  // The plugin's own frames: those of the loader and of the gateway help nobody.
  const frames = error.stack?.split('\n').filter((line) => line.includes(folder)) ?? [];
  const frame = frames.find((line) => /:\d+\)?$/.test(line.trim()));
  const place =
    frame?.trim().replace(/^at /, '') ?? (error instanceof SyntaxError ? placeOf(error, file) : '');
  const own = `${error.name}: ${error.message}${place ? ` (${place})` : ''}`;
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
 * Where a syntax error is: V8 tells it only to a process that dies of it, so one is let die. Empty where that process finds
 * another fault or none, as where the error is in a module that the plugin imports.
 */
function placeOf(error: SyntaxError, file: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: 5_000 });
  const line = /^.*:(\d+)$/m.exec(stderr)?.[1];
  return line !== undefined && stderr.includes(`SyntaxError: ${error.message}`) ? `line ${line}` : '';
}
