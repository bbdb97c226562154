import { createHash, randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { limitConcurrency, once } from '../../../pool/concurrency.js';
import { codeOf, toStoreError, withStore } from '../../database/store-error.js';
import { makeFolder } from '../../file-system.js';
import { type ByteRange, isInput, nameParts, type ResultStore, resultStore } from './result-store.js';

/** Writes at a time: each waits for the disk on one of the four threads that Node has for all such work. */
const writers = 2;
const dayMs = 86_400_000;

/** Keeps files as `jobs/3f/job_…/out/0`, written aside and renamed: none is read half, not even after a power cut. */
export function createFolderStore(root: string, disk: Disk = fs): ResultStore {
  const inTurn = limitConcurrency(writers);
  const aside = join(root, 'aside');
  let cleared: Promise<void> | undefined;
  let writing = 0;

  function placeOf(name: string): string {
    const [first = '', ...rest] = nameParts(name);
    return join(root, 'jobs', createHash('sha256').update(first).digest('hex').slice(0, 2), first, ...rest);
  }

  /** Removes what processes left that were killed while they wrote. */
  async function clearAside(): Promise<void> {
    for (const name of await fs.readdir(aside)) {
      const path = join(aside, name);
      const about = await fs.stat(path).catch(() => undefined);
      if (about && about.mtimeMs < Date.now() - dayMs) await fs.rm(path, { force: true });
    }
  }

  /** Writes a file of its own, whole and on the disk, for another name to be given to it. */
  async function writeAside(bytes: Uint8Array): Promise<string> {
    const path = join(aside, randomUUID());
    await makeFolder(aside, { mode: 0o700 });
    // That something of it stays is no reason to keep nothing new.
    cleared ??= clearAside().catch(() => undefined);
    await cleared;
    const file = await fs.open(path, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } catch (error) {
      await fs.rm(path, { force: true });
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
      await fs.rename(written, path);
    } catch (error) {
      await fs.rm(written, { force: true });
      throw error;
    }
  }

  /** The id of the folder, in a file of it, which the first process writes: a link succeeds for one alone. */
  async function readId(): Promise<string> {
    const path = join(root, 'id');
    const found = await readIfThere(path);
    if (found) return found.toString();
    const written = await writeAside(Buffer.from(`folder:${randomUUID()}`));
    await fs.link(written, path).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    await fs.unlink(written);
    return fs.readFile(path, 'utf8');
  }

  return {
    id: once(() => withStore(resultStore, readId)),
    async put(name, bytes) {
      const path = placeOf(name);
      // Where results have filled the disk, jobs can still be made.
      await inTurn(() => withStore(resultStore, () => write(path, bytes, isInput(name) ? 1 / 2 : 1)));
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
  { bytes, part, disk = fs }: { bytes: number; part: number; disk?: Disk },
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
    return await (range ? readRange(path, range) : fs.readFile(path));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function readRange(path: string, { start, end }: ByteRange): Promise<Buffer> {
  const file = await fs.open(path);
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
    for await (const entry of await fs.opendir(path)) if (entry.isDirectory()) yield entry.name;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw toStoreError(resultStore, error);
  }
}

/** File by file: Node's own `rm` asks for all at once, which would occupy the threads that work on files. */
async function removeTree(path: string): Promise<void> {
  await unlessGone(async () => {
    for await (const entry of await fs.opendir(path)) {
      const inside = join(path, entry.name);
      await (entry.isDirectory() ? removeTree(inside) : unlessGone(() => fs.unlink(inside)));
    }
    await fs.rmdir(path);
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
