import { constants } from 'node:fs';
import { open, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, join, parse, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { BodyAnswer } from '../../pool/answer.js';
import type { FileBytes } from '../../pool/task.js';
import type { FileField } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { readJsonObject } from '../../schemas/input/parse.js';
import { quote } from '../../schemas/quote.js';
import { inputError } from '../errors.js';
import { writeProblem } from '../file-system.js';
import { fileType, unknownType } from '../http/body.js';
import type { LocalHelpers } from '../local-helpers.js';
import type { Helper } from '../plugins/registry.js';
import { errorResult, type FullResult, previewRules, toolResult } from './tool-result.js';
import type { Toolbox } from './tool-server.js';
import { toolsOf } from './tools.js';

interface LocalToolsOptions {
  helpers: Pick<LocalHelpers, 'registry' | 'call'>;
  /** The folder that files are written into; undefined keeps none. */
  out: string | undefined;
  /** Where files are read from that calls name by their paths; undefined reads none. */
  files: LocalFilesOptions | undefined;
  /** Logs faults, of which an agent gets the request's id alone. */
  logger: Pick<Logger, 'error'>;
}

const encoder = new TextEncoder();

/** The helpers of this process as tools. */
export function createLocalTools({ helpers, out, files, logger }: LocalToolsOptions): Toolbox {
  const tools = toolsOf(helpers.registry, files?.folder);

  /** The input without what names files, which are read. */
  async function read(
    { declaration }: Helper,
    input: string,
  ): Promise<Omit<FilesRead, 'input'> & { text: string }> {
    const untouched = { text: input, uploads: new Map(), problems: [] };
    if (files === undefined || declaration.files.length === 0) return untouched;
    const given = readJsonObject(input);
    // Its stages say what is wrong with it.
    if ('problems' in given) return untouched;
    const found = await readLocalFiles(given.value, declaration.files, files);
    return { ...found, text: JSON.stringify(found.input) };
  }

  async function call(helper: Helper, input: string, signal: AbortSignal): Promise<CallToolResult> {
    const { text, uploads, problems } = await read(helper, input);
    if (problems.length > 0) return errorResult(inputError(problems), '');
    const shown = previewRules();
    const body = { kind: 'json', bytes: encoder.encode(text) } as const;
    const reply = await helpers.call(helper, { body, uploads, shown }, signal);
    const { request_id } = reply.meta;
    if (!reply.ok) {
      const { error } = reply;
      if (error.isFault)
        logger.error({ err: error.cause ?? error, service: helper.id, request_id }, 'call failed');
      return errorResult(error, request_id);
    }
    const { answer } = reply;
    const whole = (file: BodyAnswer, name: string) => keep(out, file, name);
    return toolResult({ answer, helper, whole, preview: shown.preview, saved: out !== undefined });
  }

  return {
    list: () => [...tools.values()].map(({ definition }) => definition),
    call(name, input, signal) {
      const tool = tools.get(name);
      return tool && call(tool.helper, input, signal);
    },
  };
}

async function keep(out: string | undefined, { bytes }: BodyAnswer, name: string): Promise<FullResult> {
  if (out === undefined) {
    return { words: 'Whole files are written where this server is started with --out DIR.' };
  }
  let path: string;
  try {
    path = await saveFile(out, name, bytes);
  } catch (error) {
    return { words: `It could not be written: ${writeProblem(error, join(out, name))}.` };
  }
  return { uri: pathToFileURL(path).href, words: `It is written to ${path}.` };
}

interface LocalFilesOptions {
  /** The folder that an agent may have files read from, with all below it. */
  folder: string;
  /** Bytes of a file at most. */
  maxBytes: number;
}

/** Files that stood as paths in a call's input, by their fields, and what is left of the input. */
interface FilesRead {
  input: Record<string, unknown>;
  uploads: Map<string, FileBytes>;
  problems: FieldProblem[];
}

/** Reads the files that a call names by a path or a `file:` url. Links are followed first: what lies elsewhere is not read. */
async function readLocalFiles(
  given: Record<string, unknown>,
  fields: readonly FileField[],
  options: LocalFilesOptions,
): Promise<FilesRead> {
  const read: FilesRead = { input: { ...given }, uploads: new Map(), problems: [] };
  for (const { field, parameter } of fields) {
    const value = given[parameter];
    if (typeof value !== 'string' || /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(value)) continue;
    const found = await readLocalFile(value, options);
    if (typeof found === 'string') read.problems.push({ field: parameter, problem: found });
    else read.uploads.set(field, found);
    delete read.input[parameter];
  }
  return read;
}

/** The file, or what is wrong with its name. */
async function readLocalFile(
  name: string,
  { folder, maxBytes }: LocalFilesOptions,
): Promise<FileBytes | string> {
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

/** Writes a file under this name, or under the first of `name-2`, `name-3` … that is free; gives its path. None is overwritten. */
async function saveFile(dir: string, name: string, bytes: Uint8Array): Promise<string> {
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
