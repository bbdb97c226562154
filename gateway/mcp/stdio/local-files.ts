import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { basename, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import { quote } from '../../../schemas/quote.js';
import { fileType, unknownType } from '../../http/body/file-type.js';

export interface LocalFilesOptions {
  /** The folder that an agent may have files read from, with all below it. */
  folder: string;
  /** Bytes of a file at most. */
  maxBytes: number;
}

/** Files that stood as paths in a call's input, by their fields, and what is left of the input. */
export interface FilesRead {
  input: Record<string, unknown>;
  uploads: Map<string, FileBytes>;
  problems: FieldProblem[];
}

/** Reads the files that a call names by a path or a `file:` url. Links are followed first: what lies elsewhere is not read. */
export async function readLocalFiles(
  given: Record<string, unknown>,
  fields: readonly FileField[],
  options: LocalFilesOptions,
): Promise<FilesRead> {
  const read: FilesRead = { input: { ...given }, uploads: new Map(), problems: [] };
  for (const { field, parameter } of fields) {
    const value = given[parameter];
    if (typeof value !== 'string' || /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(value)) continue;
    const found = await readFile(value, options);
    if (typeof found === 'string') read.problems.push({ field: parameter, problem: found });
    else read.uploads.set(field, found);
    delete read.input[parameter];
  }
  return read;
}

/** The file, or what is wrong with its name. */
async function readFile(name: string, { folder, maxBytes }: LocalFilesOptions): Promise<FileBytes | string> {
  const outside = `must be a file below ${folder}, or an https address, but is ${quote(name)}`;
  const root = await realpath(folder);
  const path = await realpath(pathOf(name, root)).catch(() => undefined);
  if (path === undefined || !path.startsWith(root.endsWith(sep) ? root : root + sep)) return outside;
  // A pipe is opened only once somebody writes into it, and to open a device may be enough to set it off.
  if (!(await stat(path).catch(() => undefined))?.isFile()) return outside;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (file === undefined) return outside;
  try {
    const about = await file.stat();
    if (!about.isFile()) return outside;
    if (about.size > maxBytes) return `must be a file of at most ${maxBytes} bytes, but has ${about.size}`;
    // Of its own memory, for it is moved to a worker.
    const bytes = new Uint8Array(about.size);
    const { bytesRead } = await file.read(bytes, 0, about.size, 0);
    const type = fileType(unknownType, path);
    return { bytes: bytes.slice(0, bytesRead), type, name: basename(path) };
  } finally {
    await file.close();
  }
}

function pathOf(name: string, root: string): string {
  try {
    return /^file:/i.test(name) ? fileURLToPath(name) : resolve(root, name);
  } catch {
    return '';
  }
}
