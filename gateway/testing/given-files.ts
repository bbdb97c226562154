import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileBytes } from '../../pool/task.js';
import type { FileField } from '../../schemas/declared-helper.js';
import { fileType, unknownType } from '../http/body/file-type.js';
import type { GivenFile } from './types.js';

/**
 * The files of a call as they would arrive. Copies, because a handler may change what it gets. Bytes of which nothing is said are of
 * the first type that their field takes.
 */
export async function readFiles(
  files: Readonly<Record<string, GivenFile | undefined>>,
  fields: readonly FileField[],
): Promise<Map<string, FileBytes>> {
  const given = Object.entries(files).filter((entry): entry is [string, GivenFile] => entry[1] !== undefined);
  const read = given.map(async ([name, file]): Promise<[string, FileBytes]> => {
    const field = fields.find((each) => each.field === name);
    return [name, await readGiven(file, field)];
  });
  return new Map(await Promise.all(read));
}

async function readGiven(file: GivenFile, field: FileField | undefined): Promise<FileBytes> {
  if (typeof file === 'string' || file instanceof URL) {
    const path = typeof file === 'string' ? file : fileURLToPath(file);
    const type = fileType(unknownType, path);
    return { bytes: new Uint8Array(await readFile(path)), type, name: basename(path) };
  }
  const { bytes, type, name }: Partial<FileBytes> & { bytes: Uint8Array } =
    file instanceof Uint8Array ? { bytes: file } : file;
  return {
    bytes: new Uint8Array(bytes),
    type: type ?? field?.types?.find((each) => !each.endsWith('/*')) ?? unknownType,
    ...(name === undefined ? {} : { name }),
  };
}
