import { readFile } from 'node:fs/promises';
import { fontFilesOf } from '../../pool/image/text/fonts.js';
import type { WorkerReport } from '../../pool/task.js';
import { digestOf } from './digest.js';

/**
 * What draws pictures, as far as their bytes depend on it: the package's version, the engine's, and the fonts besides the shipped one
 * by their content. The same on every gateway that draws the same.
 */
export async function identifyEngine(
  { engine, version }: WorkerReport,
  { packageVersion, fonts }: { packageVersion: string; fonts: readonly string[] },
): Promise<readonly string[]> {
  const drawn = [];
  for (const file of await fontFilesOf(fonts)) drawn.push(await digestOf(await readFile(file)));
  return [packageVersion, engine, version ?? '', ...drawn];
}
