import { createHash, randomUUID } from 'node:crypto';
import {
  link,
  open,
  opendir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { limitConcurrency } from '../../../pool/concurrency.js';
import { codeOf, toStoreError, withStore } from '../../database/store-error.js';
import { makeFolder } from '../../file-system.js';
import { type ByteRange, isInput, nameParts, type ResultStore, resultStore } from './result-store.js';

/** Writes at a time: each waits for the disk on one of the four threads that Node has for all such work. */
const writers = 2;
const dayMs = 86_400_000;

/**
 * Keeps files below a folder, which is made when it is first used and is its owner's alone: `3f/job_…/out/0`, where `3f` spreads jobs over
 * folders. A file is written to the disk beside its place and moved there, so that no process reads half of one, not even after a
 * power cut. Processes that share the folder find its id in a file of it.
 */
export function createFolderStore(root: string, disk: Disk = { statfs }): ResultStore {
  const turn = limitConcurrency(writers);
  const aside = join(root, 'aside');
  let known: Promise<string> | undefined;
  let cleared: Promise<void> | undefined;
  let writing = 0;

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

  async function write(path: string, bytes: Uint8Array, reserved: number): Promise<void> {
    await makeFolder(aside, { mode: 0o700 });
    // Before the disk is asked: two that ask at the same time count each other.
    writing += bytes.length;
    const written = await requireFree(aside, { bytes: writing, part: reserved, disk })
      .then(() => writeAside(bytes))
      .finally(() => {
        writing -= bytes.length;
      });
    try {
      await makeFolder(dirname(path), { mode: 0o700 });
      await rename(written, path);
    } catch (error) {
      await rm(written, { force: true });
      throw error;
    }
  }

  /** The first process names it: a link succeeds for one alone, and then with all that is in it. */
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
      known ??= withStore(resultStore, readId);
      known.catch(() => {
        known = undefined;
      });
      return known;
    },
    async put(name, bytes) {
      const path = placeOf(name);
      // Where results have filled the disk, jobs can still be made.
      await turn(() => withStore(resultStore, () => write(path, bytes, isInput(name) ? 1 / 2 : 1)));
    },
    async get(name, range) {
      const path = placeOf(name);
      return withStore(resultStore, () => readIfThere(path, range));
    },
    async removeAll(prefix) {
      const path = placeOf(prefix);
      await withStore(resultStore, () => removeTree(path));
    },
    async *prefixes() {
      for await (const spread of foldersIn(join(root, 'jobs'))) yield* foldersIn(join(root, 'jobs', spread));
    },
    async close() {},
  };
}

/** Gives the free space of a disk; for tests. */
interface Disk {
  statfs(path: string): Promise<{ bavail: number; blocks: number; bsize: number }>;
}

/** What the disk of the data folder keeps free: without, the embedded database could end no job, and nothing would be removed any more. */
const mostReserved = 64 * 2 ** 20;
const leastPart = 1 / 8;

/** Throws ENOSPC where so many bytes more would leave less free on the disk of `path` than this part of the reserve. */
export async function requireFree(
  path: string,
  { bytes, part, disk = { statfs } }: { bytes: number; part: number; disk?: Disk },
): Promise<void> {
  const { bavail, blocks, bsize } = await disk.statfs(path);
  // A file system that does not know.
  if (blocks === 0) return;
  const reserved = Math.min(mostReserved, blocks * bsize * leastPart) * part;
  if (bavail * bsize - bytes >= reserved) return;
  const text = `ENOSPC: ${bavail * bsize} bytes are free, of which ${Math.round(reserved)} are reserved for the database`;
  throw Object.assign(new Error(text), { code: 'ENOSPC' });
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
    if (codeOf(error) !== 'ENOENT') throw toStoreError(resultStore, error);
  }
}

/**
 * Removes a folder and all in it, or nothing where there is none. One file after the other: Node's own asks for all at once, and ten
 * thousand of them would keep everybody else from the threads that work on files.
 */
async function removeTree(path: string): Promise<void> {
  await unlessGone(async () => {
    for await (const entry of await opendir(path)) {
      const inside = join(path, entry.name);
      await (entry.isDirectory() ? removeTree(inside) : unlessGone(() => unlink(inside)));
    }
    await rmdir(path);
  });
}

/** Another process may remove the same. */
async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
