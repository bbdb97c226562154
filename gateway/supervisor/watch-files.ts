import { type FSWatcher, watch } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLinkLoop } from '../plugins/discover.js';

/** What editors write beside a file while they save it, and what is no plugin. */
const passing = /~$|\.sw[a-z]$|\.tmp$|^\.#|^#.*#$|^4913$|___jb_|\.log$|^\.git$|^node_modules$|^\.DS_Store$/;
/** Changes so close together are reported together, but not later than this after the first. */
const stillMs = 25;
const latestMs = 250;
/** An editor empties a file before it writes it anew. */
const emptyTries = 10;
/** The system reports most changes, but not always those in a folder that was made anew, or on a mount. */
const usualPollMs = 1_000;

/** Files and folders, by their paths, at one time. */
interface Scan {
  files: Map<string, string>;
  /** With an identity, as another folder may be made in its place. */
  folders: Map<string, string>;
}

/**
 * Watches folders with all that is below them; resolves when every change from now on will be reported, to `onChange`, once the files
 * are still. A report of the system starts a scan at once, and a timer starts one each `pollMs`, for systems that report nothing.
 */
export async function watchFiles(
  roots: readonly string[],
  { onChange, pollMs }: { onChange(files: ReadonlySet<string>): void; pollMs?: number | undefined },
): Promise<{ close(): void }> {
  const watchers = new Map<string, { id: string; watcher: FSWatcher }>();
  const changed = new Set<string>();
  let known = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let latest = 0;
  let scanning: Promise<void> | undefined;
  let scanAgain = false;
  /** Once the first scan has ended: what was there before is no change. */
  let isReady = false;
  let isClosed = false;

  async function scanAll(): Promise<void> {
    do {
      scanAgain = false;
      const found: Scan = { files: new Map(), folders: new Map() };
      for (const root of roots) await scanFolder(root, found, []);
      const { files, folders } = found;
      if (isClosed) return;
      watchOnly(folders);
      for (const [file, stamp] of files) if (known.get(file) !== stamp) note(file);
      for (const file of known.keys()) if (!files.has(file)) note(file);
      known = files;
    } while (scanAgain);
  }

  function scan(): void {
    scanAgain = true;
    scanning ??= scanAll().finally(() => {
      scanning = undefined;
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
        const watcher = watch(folder, scan).on('error', () => watchers.delete(folder));
        watchers.set(folder, { id, watcher });
        // What came before it was watched.
        scanAgain = true;
      } catch {
        // It has gone, or there are too many: the next scan finds what changes.
      }
    }
  }

  function note(file: string): void {
    if (!isReady) return;
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

  scan();
  await scanning;
  isReady = true;
  const polling = setInterval(scan, pollMs ?? usualPollMs);
  return {
    close() {
      isClosed = true;
      clearInterval(polling);
      clearTimeout(timer);
      for (const { watcher } of watchers.values()) watcher.close();
    },
  };
}

/** What has gone meanwhile is not there. */
async function scanFolder(folder: string, scan: Scan, around: readonly string[]): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  const real = await realpath(folder).catch(() => undefined);
  if (!found || real === undefined || isLinkLoop(real, around)) return;
  scan.folders.set(folder, `${found.dev} ${found.ino} ${found.birthtimeMs}`);
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names.map(async (name) => {
      if (passing.test(basename(name))) return;
      const path = join(folder, name);
      const stats = await stat(path).catch(() => undefined);
      if (stats?.isDirectory()) await scanFolder(path, scan, [...around, real]);
      else if (stats?.isFile())
        scan.files.set(path, `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`);
    }),
  );
}

/** Waits for a file that is empty to get its text, but not for long. */
async function untilWritten(file: string): Promise<void> {
  for (let tries = 0; tries < emptyTries; tries += 1) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile() || found.size > 0) return;
    await sleep(stillMs);
  }
}
