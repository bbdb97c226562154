import { type FSWatcher, type Stats, watch } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLinkLoop } from '../plugins/discover.js';

export interface WatchOptions {
  /** Told of the files that have changed, once they are still. */
  onChange: (files: ReadonlySet<string>) => void;
  /** Milliseconds between two looks, where the system may tell of no change. */
  pollMs?: number | undefined;
}

/** What editors write beside a file while they save it, and what is nobody's plugin. */
const passing = /~$|\.sw[a-z]$|\.tmp$|^\.#|^#.*#$|^4913$|___jb_|\.log$|^\.git$|^node_modules$|^\.DS_Store$/;
/** Files that are saved one after another so shortly are told together, but not later than this after the first. */
const stillMs = 25;
const latestMs = 250;
/** An editor empties a file before it writes it anew. */
const emptyTries = 10;
/** The system tells of most changes; of a folder that was made anew, or a mount, it may not. */
const usualPollMs = 1_000;

/** Files by their paths, and folders, as they were at one time. */
interface Look {
  files: Map<string, string>;
  /** With what tells a folder from another one that was made in its place. */
  folders: Map<string, string>;
}

/**
 * Watches folders with all that is below them; resolves when every change from now on will be told. What the system tells has it
 * look at once, and it looks from time to time besides: what differs from the last look has changed.
 */
export async function watchFiles(
  roots: readonly string[],
  { onChange, pollMs }: WatchOptions,
): Promise<{ close(): void }> {
  const watchers = new Map<string, { id: string; watcher: FSWatcher }>();
  const changed = new Set<string>();
  let known = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let latest = 0;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let isClosed = false;

  async function lookNow(): Promise<void> {
    do {
      lookAgain = false;
      const { files, folders } = await lookAt(roots);
      if (isClosed) return;
      watchOnly(folders);
      for (const [file, stamp] of files) if (known.get(file) !== stamp) note(file);
      for (const file of known.keys()) if (!files.has(file)) note(file);
      known = files;
    } while (lookAgain);
  }

  function look(): void {
    lookAgain = true;
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
  }

  function watchOnly(folders: ReadonlyMap<string, string>): void {
    for (const [folder, { id, watcher }] of watchers) {
      if (folders.get(folder) === id) continue;
      watcher.close();
      watchers.delete(folder);
    }
    if (pollMs !== undefined) return;
    for (const [folder, id] of folders) {
      if (watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, look).on('error', () => watchers.delete(folder));
        watchers.set(folder, { id, watcher });
        // What came before it was watched.
        lookAgain = true;
      } catch {
        // It has gone, or there are too many: the next look finds what changes.
      }
    }
  }

  function note(file: string): void {
    const now = Date.now();
    if (changed.size === 0) latest = now + latestMs;
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(report, Math.min(stillMs, latest - now));
  }

  async function report(): Promise<void> {
    const files = new Set(changed);
    changed.clear();
    await Promise.all([...files].map(untilWritten));
    if (!isClosed) onChange(files);
  }

  look();
  await looking;
  changed.clear();
  clearTimeout(timer);
  const polling = setInterval(look, pollMs ?? usualPollMs);
  return {
    close() {
      isClosed = true;
      clearInterval(polling);
      clearTimeout(timer);
      for (const { watcher } of watchers.values()) watcher.close();
    },
  };
}

async function lookAt(roots: readonly string[]): Promise<Look> {
  const look: Look = { files: new Map(), folders: new Map() };
  for (const root of roots) await lookIn(root, look, []);
  return look;
}

/** What has gone meanwhile is not there. */
async function lookIn(folder: string, look: Look, around: readonly string[]): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  const real = await realpath(folder).catch(() => undefined);
  if (!found || real === undefined || isLinkLoop(real, around)) return;
  look.folders.set(folder, `${found.dev} ${found.ino} ${found.birthtimeMs}`);
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names.map(async (name) => {
      if (passing.test(basename(name))) return;
      const path = join(folder, name);
      const stats = await stat(path).catch(() => undefined);
      if (stats?.isDirectory()) await lookIn(path, look, [...around, real]);
      else if (stats?.isFile()) look.files.set(path, stampOf(stats));
    }),
  );
}

function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

/** Waits for a file that is empty to get its text, but not for long. */
async function untilWritten(file: string): Promise<void> {
  for (let tries = 0; tries < emptyTries; tries += 1) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile() || found.size > 0) return;
    await sleep(stillMs);
  }
}
