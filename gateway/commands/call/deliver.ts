import { randomUUID } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { extension } from 'mime-types';
import { inputError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { writeProblem } from '../../write-problem.js';

/** Where a call's result goes: a file, a folder in which it is named like its source, or nowhere, which is standard output. */
export interface Destination {
  out?: string | undefined;
  outDir?: string | undefined;
}

/** Names the files of results. */
export interface Namer {
  /** The path for a result of this media type that was made of `file`; undefined for standard output. */
  pathFor(type: string, file: string | undefined): string | undefined;
}

/** Names each file once: a second result of the same name gets a number. */
export function createNamer({ out, outDir }: Destination, service: string): Namer {
  const taken = new Set<string>();
  return {
    pathFor(type, file) {
      if (outDir === undefined) return out === '-' ? undefined : out;
      const source = file === undefined || file === '-' ? service.replaceAll('/', '-') : basename(file);
      const stem = basename(source, extname(source));
      const ending = extension(type) || 'bin';
      for (let n = 1; ; n += 1) {
        const path = join(outDir, `${n === 1 ? stem : `${stem}-${n}`}.${ending}`);
        if (taken.has(path)) continue;
        taken.add(path);
        return path;
      }
    },
  };
}

/**
 * Writes a whole file or none: what is cut off stands beside it under another name, and goes. Throws `invalid_input` on the
 * option that named the place, and where the file would take the place of its own source in a folder.
 */
export async function writeResult(
  path: string,
  bytes: Uint8Array | string,
  { file, option }: { file?: string | undefined; option: 'out' | 'out-dir' },
): Promise<void> {
  if (option === 'out-dir' && file !== undefined && resolve(file) === resolve(path)) {
    throw inputError([
      { field: option, problem: `must be another folder than that of ${file}, which would be overwritten` },
    ]);
  }
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
