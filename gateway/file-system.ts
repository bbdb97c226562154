import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes a folder and those above it; true where it was missing. Node's `recursive` tries for ever below `/proc`. */
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

async function attempt(path: string, mode?: number): Promise<'made' | 'there' | NodeJS.ErrnoException> {
  try {
    await mkdir(path, { mode });
    return 'made';
  } catch (error) {
    // For a root and on a read-only disk the system's code is not EEXIST.
    const about = await stat(path).catch(() => undefined);
    return about?.isDirectory() ? 'there' : (error as NodeJS.ErrnoException);
  }
}

/** The place and the reason of a failed write, to follow "cannot be written to: ". */
export function writeProblem(error: unknown, path: string, folder = dirname(path)): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return syscall === 'mkdir' ? `the folder ${folder} cannot be made` : `there is no folder ${folder}`;
    case 'EISDIR':
      return `${path} is a folder`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${folder} is no folder`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not write into ${folder}`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `there is no space left for ${path}`;
    case 'EROFS':
      return `${folder} is on a disk that can only be read`;
    case 'ENAMETOOLONG':
      return `the name is too long: ${path}`;
    default:
      return `${path}: ${message}`;
  }
}
