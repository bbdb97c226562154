import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it; whether any was missing. Throws what the system says where it cannot be. Node's own
 * (`recursive`) tries for ever where a folder is there and still cannot hold another, as `/proc` and behind a link to nothing.
 */
export async function makeFolder(path: string, { mode }: { mode?: number } = {}): Promise<boolean> {
  const first = await attempt(path, mode);
  if (first === 'made' || first === 'there') return first === 'made';
  const above = dirname(path);
  if (first.code !== 'ENOENT' || above === path) throw first;
  await makeFolder(above, mode === undefined ? {} : { mode });
  const second = await attempt(path, mode);
  if (second === 'made' || second === 'there') return true;
  throw second;
}

async function attempt(
  path: string,
  mode: number | undefined,
): Promise<'made' | 'there' | NodeJS.ErrnoException> {
  try {
    await mkdir(path, { mode });
    return 'made';
  } catch (error) {
    // Of a root and of a read-only disk the system says something else than that it is there.
    const about = await stat(path).catch(() => undefined);
    return about?.isDirectory() ? 'there' : (error as NodeJS.ErrnoException);
  }
}
