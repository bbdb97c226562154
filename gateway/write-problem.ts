import { dirname } from 'node:path';

/** Why this file, or its folder, could not be written: the place and the reason, to follow "cannot be written to: ". */
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
