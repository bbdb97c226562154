import { realpathSync, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FSWatcher, watch } from 'chokidar';
import { isLinkLoop } from './discover.js';

export interface WatchOptions {
  /** Told of the files that have changed, once they are still. */
  onChange: (files: ReadonlySet<string>) => void;
  onError: (error: Error) => void;
  /** Looks every so many milliseconds in place of being told: on mounts that tell nothing. */
  pollMs?: number | undefined;
}

/** What editors write beside a file while they save it, and what is nobody's plugin. */
const passing = /~$|\.sw[a-z]$|\.tmp$|^\.#|^#.*#$|^4913$|___jb_|\.log$|^\.git$|^node_modules$|^\.DS_Store$/;
/** Files that are saved one after another so shortly are told together, but not later than this after the first. */
const stillMs = 25;
const latestMs = 250;
/** An editor empties a file before it writes it anew. */
const emptyTries = 10;

/** Between two looks whether a folder is another one by now. */
const rootMs = 500;

/** Watches folders with all that is below them; resolves when every change from now on will be told. */
export async function watchFolders(
  folders: readonly string[],
  { onChange, onError, pollMs }: WatchOptions,
): Promise<{ close(): Promise<void> }> {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let latest = 0;
  const ignored = (path: string, stats?: Stats) =>
    !folders.includes(path) &&
    (passing.test(basename(path)) || (stats?.isDirectory() === true && isLoop(path, folders)));
  let closed = false;

  async function tell(): Promise<void> {
    const files = new Set(changed);
    changed.clear();
    await Promise.all([...files].map(untilWritten));
    if (!closed) onChange(files);
  }

  function note(path: string): void {
    const now = Date.now();
    if (changed.size === 0) latest = now + latestMs;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(tell, Math.min(stillMs, latest - now));
  }

  function open(): Promise<FSWatcher> {
    const watcher = watch([...folders], {
      ignoreInitial: true,
      ignored,
      ...(pollMs === undefined ? {} : { usePolling: true, interval: pollMs, binaryInterval: pollMs }),
    });
    watcher.on('error', (error) => onError(error as Error));
    watcher.on('all', (event, path) => {
      // A folder is what lies in it, which is told by itself.
      if (!event.endsWith('Dir')) note(path);
      else if (event === 'addDir') void untoldIn(watcher, path, { ignored, add: note });
      // The next of this name may have its number, too.
      else if (event === 'unlinkDir' && folders.includes(path)) roots[folders.indexOf(path)] = undefined;
    });
    return new Promise((resolve) => watcher.once('ready', () => resolve(watcher)));
  }

  const identify = () => Promise.all(folders.map((folder) => stat(folder).catch(() => undefined)));
  const roots = await identify();
  let watcher = await open();
  let renewing: Promise<void> | undefined;

  /** A folder that was deleted and made anew, as a build or a checkout does, is another one, of which nothing would be told. */
  async function renew(): Promise<void> {
    const now = await identify();
    let hasOther = false;
    for (const [index, root] of now.entries()) {
      const before = roots[index];
      if (root && before && isSame(before, root, pollMs !== undefined)) continue;
      hasOther ||= root !== undefined;
      roots[index] = root;
    }
    if (!hasOther || closed) return;
    await watcher.close();
    watcher = await open();
    // All that lies in them may have changed.
    for (const folder of folders) note(folder);
  }

  const looks = setInterval(() => {
    renewing ??= renew()
      .catch(onError)
      .finally(() => {
        renewing = undefined;
      });
  }, rootMs).unref();

  return {
    async close() {
      closed = true;
      clearInterval(looks);
      await renewing;
      clearTimeout(timer);
      await watcher.close();
    },
  };
}

/**
 * Whether a folder is the one that was there before. The next one of its name may have its number. Where no birth is kept it is
 * told as the time of the last change; and mounts that tell of no change may number a folder anew each time.
 */
function isSame(before: Stats, now: Stats, isPolled: boolean): boolean {
  const isBorn = now.birthtimeMs === before.birthtimeMs || now.birthtimeMs === now.ctimeMs;
  return isBorn && (isPolled || (now.dev === before.dev && now.ino === before.ino));
}

/** Whether a folder is one that it lies in, by a link: all below it would be watched up to forty times. */
function isLoop(path: string, folders: readonly string[]): boolean {
  try {
    const inside: string[] = [];
    for (let above = path; !folders.includes(above) && above !== dirname(above); ) {
      above = dirname(above);
      inside.push(realpathSync(above));
    }
    return isLinkLoop(realpathSync(path), inside);
  } catch {
    // It has gone meanwhile.
    return false;
  }
}

/** Waits for a file that is empty to get its text, but not for long. */
async function untilWritten(file: string): Promise<void> {
  for (let tries = 0; tries < emptyTries; tries += 1) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile() || found.size > 0) return;
    await sleep(stillMs);
  }
}

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
