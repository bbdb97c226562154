import { opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes a folder and all in it, or nothing where there is none. One file after the other: Node's own asks for all at once, and ten
 * thousand of them would keep everybody else from the threads that work on files.
 */
export async function removeTree(path: string): Promise<void> {
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

/** The system's word for what went wrong. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
