import { randomUUID } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { inputError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { writeProblem } from '../../write-problem.js';

/**
 * Writes a whole file or none: what is cut off stands beside it under another name, and goes. Throws `invalid_input` on the
 * option that named the place.
 */
export async function writeResult(
  path: string,
  bytes: Uint8Array | string,
  { option }: { option: 'out' | 'out-dir' },
): Promise<void> {
  const unfinished = join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}`);
  try {
    if (option === 'out-dir') await makeFolder(dirname(path));
    if (await isDevice(path)) return await writeFile(path, bytes);
    await writeFile(unfinished, bytes);
    await rename(unfinished, path);
  } catch (error) {
    // It may be that nothing can be there at all, as below a file.
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw inputError(
      [{ field: option, problem: `cannot be written to: ${writeProblem(error, path)}` }],
      error,
    );
  }
}

/** Links to what a process has open, which may be a file. */
const openFiles = /^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/)/;

/** `/dev/null`, `/dev/stdout`, a pipe: written into. A file that took its place would be there for everybody on the machine. */
async function isDevice(path: string): Promise<boolean> {
  if (openFiles.test(resolve(path))) return true;
  const about = await stat(path).catch(() => undefined);
  return about !== undefined && !about.isFile() && !about.isDirectory();
}
