import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch } from 'chokidar';
import { untoldIn } from './untold-files.js';

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

/** Watches folders with all that is below them; resolves when every change from now on will be told. */
export async function watchFolders(
  folders: readonly string[],
  { onChange, onError, pollMs }: WatchOptions,
): Promise<{ close(): Promise<void> }> {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let latest = 0;
  const ignored = (path: string) => !folders.includes(path) && passing.test(basename(path));
  const watcher = watch([...folders], {
    ignoreInitial: true,
    ignored,
    ...(pollMs === undefined ? {} : { usePolling: true, interval: pollMs, binaryInterval: pollMs }),
  });

  async function tell(): Promise<void> {
    const files = new Set(changed);
    changed.clear();
    await Promise.all([...files].map(untilWritten));
    if (!watcher.closed) onChange(files);
  }

  function add(path: string): void {
    const now = Date.now();
    if (changed.size === 0) latest = now + latestMs;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(tell, Math.min(stillMs, latest - now));
  }

  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
    watcher.on('error', (error) => onError(error as Error));
    watcher.on('all', (event, path) => {
      // A folder is what lies in it, which is told by itself.
      if (!event.endsWith('Dir')) add(path);
      else if (event === 'addDir') void untoldIn(watcher, path, { ignored, add });
    });
  });
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}

/** Waits for a file that is empty to get its text, but not for long. */
async function untilWritten(file: string): Promise<void> {
  for (let tries = 0; tries < emptyTries; tries += 1) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile() || found.size > 0) return;
    await sleep(stillMs);
  }
}
