import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FSWatcher } from 'chokidar';

const pauseMs = 25;
/** A folder that is not watched by then is gone, or a link to one that is. */
const mostPauses = 400;

interface Telling {
  ignored: (path: string) => boolean;
  /** Told of each file that chokidar does not tell of. */
  add: (path: string) => void;
}

/**
 * Finds what a folder that is new got between chokidar's reading it and watching it, which chokidar tells of only at the next
 * change there (paulmillr/chokidar#1471); on a busy machine that is every third of files that come with their folder.
 */
export async function untoldIn(watcher: FSWatcher, folder: string, telling: Telling): Promise<void> {
  await look(watcher, folder, telling, { isTold: true });
}

async function look(
  watcher: FSWatcher,
  folder: string,
  telling: Telling,
  { isTold }: { isTold: boolean },
): Promise<void> {
  for (let pauses = 0; !watcher._closers.has(folder); pauses += 1) {
    if (watcher.closed || pauses === mostPauses) return;
    await sleep(pauseMs);
  }
  const told = new Set(isTold ? watcher.getWatched()[resolve(folder)] : []);
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (watcher.closed || told.has(entry.name) || telling.ignored(path)) continue;
    watcher.add(path);
    if (entry.isDirectory()) await look(watcher, path, telling, { isTold: false });
    else telling.add(path);
  }
}
