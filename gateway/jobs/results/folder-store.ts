import { createHash, randomUUID } from 'node:crypto';
import { link, open, opendir, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { atMost } from '../../at-most.js';
import { makeFolder } from '../../make-folder.js';
import { codeOf, removeTree } from './remove-tree.js';
import { type ByteRange, nameParts, type ResultStore, ResultStoreError } from './result-store.js';

/** Writes at a time: each waits for the disk on one of the four threads that Node has for all such work. */
const writers = 2;
const dayMs = 86_400_000;

/**
 * Keeps files below a folder, which is made when it is first used and is its owner's alone: `3f/job_…/out/0`, where `3f` spreads jobs over
 * folders. A file is written to the disk beside its place and moved there, so that nobody reads half of one, not even after a
 * power cut. Processes that share the folder find its id in a file of it.
 */
export function createFolderStore(root: string): ResultStore {
  const turn = atMost(writers);
  const aside = join(root, 'aside');
  let known: Promise<string> | undefined;
  let cleared: Promise<void> | undefined;

  function placeOf(name: string): string {
    const [first = '', ...rest] = nameParts(name);
    return join(root, 'jobs', createHash('sha256').update(first).digest('hex').slice(0, 2), first, ...rest);
  }

  /** Removes what processes left that were killed while they wrote. */
  async function clearAside(): Promise<void> {
    for (const name of await readdir(aside)) {
      const path = join(aside, name);
      const about = await stat(path).catch(() => undefined);
      if (about && about.mtimeMs < Date.now() - dayMs) await rm(path, { force: true });
    }
  }

  /** Writes a file of its own, whole and on the disk, for another name to be given to it. */
  async function writeAside(bytes: Uint8Array): Promise<string> {
    const path = join(aside, randomUUID());
    await makeFolder(aside, { mode: 0o700 });
    // That something of it stays is no reason to keep nothing new.
    cleared ??= clearAside().catch(() => undefined);
    await cleared;
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return path;
  }

  async function write(path: string, bytes: Uint8Array): Promise<void> {
    const written = await writeAside(bytes);
    try {
      await makeFolder(dirname(path), { mode: 0o700 });
      await rename(written, path);
    } catch (error) {
      await rm(written, { force: true });
      throw error;
    }
  }

  /** Whoever comes first names it: a link is there for one alone, and then with all that is in it. */
  async function readId(): Promise<string> {
    const path = join(root, 'id');
    const there = await readIfThere(path);
    if (there) return there.toString();
    const written = await writeAside(Buffer.from(`folder:${randomUUID()}`));
    await link(written, path).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    await unlink(written);
    return (await readFile(path)).toString();
  }

  return {
    id() {
      known ??= settle(readId);
      known.catch(() => {
        known = undefined;
      });
      return known;
    },
    async put(name, bytes) {
      const path = placeOf(name);
      await turn(() => settle(() => write(path, bytes)));
    },
    async get(name, range) {
      const path = placeOf(name);
      return settle(() => readIfThere(path, range));
    },
    async removeAll(prefix) {
      const path = placeOf(prefix);
      await settle(() => removeTree(path));
    },
    async *prefixes() {
      for await (const spread of foldersIn(join(root, 'jobs'))) yield* foldersIn(join(root, 'jobs', spread));
    },
    async close() {},
  };
}

async function readIfThere(path: string, range?: ByteRange): Promise<Buffer | undefined> {
  try {
    return await (range ? readRange(path, range) : readFile(path));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function readRange(path: string, { start, end }: ByteRange): Promise<Buffer> {
  const file = await open(path);
  try {
    const bytes = Buffer.allocUnsafe(end - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* foldersIn(path: string): AsyncGenerator<string> {
  try {
    for await (const entry of await opendir(path)) if (entry.isDirectory()) yield entry.name;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw new ResultStoreError(error);
  }
}

async function settle<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ResultStoreError(error);
  }
}
