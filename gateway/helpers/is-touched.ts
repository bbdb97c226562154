import { basename, dirname, relative, sep } from 'node:path';

/**
 * Whether a change of a file may change what a plugin does: it is the plugin's own, or is shared by what lies below the file's
 * folder. Whatever lies beside an `index` is that plugin's own; of a folder `_shared` its parent is the one that counts.
 * `plugins` are the files of all plugins: one of them is shared with nobody.
 */
export function isTouched(file: string, changed: string, plugins: Iterable<string>): boolean {
  if (owns(file, changed)) return true;
  for (const other of plugins) if (owns(other, changed)) return false;
  return isBelow(sharedFolder(changed), file);
}

function owns(plugin: string, file: string): boolean {
  return plugin === file || (/^index\.\w+$/.test(basename(plugin)) && isBelow(dirname(plugin), file));
}

function sharedFolder(file: string): string {
  let folder = dirname(file);
  for (let above = folder; above !== dirname(above); above = dirname(above)) {
    if (/^[._]/.test(basename(above))) folder = dirname(above);
  }
  return folder;
}

/** Whether a file lies below a folder, however either path is written. */
export function isBelow(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
}

/** Whether the real path of a folder is that of one it lies in, or of one around these. */
export function leadsBack(folder: string, inside: readonly string[]): boolean {
  return inside.some((each) => each === folder || isBelow(folder, each));
}
