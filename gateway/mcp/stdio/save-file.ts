import { writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';

/** Writes a file under this name, or under the first of `name-2`, `name-3` … that is free; gives its path. None is overwritten. */
export async function saveFile(dir: string, name: string, bytes: Uint8Array): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let at = 1; ; at += 1) {
    const path = join(dir, at === 1 ? name : `${stem}-${at}${ext}`);
    try {
      await writeFile(path, bytes, { flag: 'wx' });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
