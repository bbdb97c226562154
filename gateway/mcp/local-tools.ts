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
  /** The folder that files are written into; undefined writes none. */
  out: string | undefined;
  /** The folder from which an agent may have files read, with all below it, and their bytes at most; undefined reads none. */
  files: { folder: string; maxBytes: number } | undefined;
  /** Logs faults, of which an agent gets the request's id alone. */
  logger: Pick<Logger, 'error'>;
}

/** The helpers of this process as tools. */
export function createLocalTools({ helpers, out, files, logger }: LocalToolsOptions): Toolbox {
  const tools = toolsOf(helpers.registry, files?.folder);

  async function call(helper: Helper, input: string, signal: AbortSignal): Promise<CallToolResult> {
    const { text, uploads, problems } = await readFiles(helper.declaration.files, input, files);
    if (problems.length > 0) return errorResult(inputError(problems), '');
    const shown = previewRules();
    const body = { kind: 'json', bytes: new TextEncoder().encode(text) } as const;
    const reply = await helpers.call(helper, { body, uploads, shown }, signal);
    const { request_id, cost } = reply.meta;
    if (!reply.ok) {
      const { error } = reply;
      const facts = { err: error.cause ?? error, service: helper.id, request_id };
      if (error.isFault) logger.error(facts, 'call failed');
      return errorResult(error, request_id);
    }
    const whole = (file: BodyAnswer, name: string) => saveWhole(out, file, name);
    const { preview } = shown;
    return toolResult({ answer: reply.answer, helper, whole, preview, saved: out !== undefined, cost });
  }

  return {
    list: () => [...tools.values()].map(({ definition }) => definition),
    call(name, input, signal) {
      const tool = tools.get(name);
      return tool && call(tool.helper, input, signal);
    },
  };
}

async function saveWhole(out: string | undefined, { bytes }: BodyAnswer, name: string): Promise<FullResult> {
  if (out === undefined) {
    return { words: 'Whole files are written where this server is started with --out DIR.' };
  }
  try {
    const path = await saveFile(out, name, bytes);
    return { uri: pathToFileURL(path).href, words: `It is written to ${path}.` };
  } catch (error) {
    return { words: `It could not be written: ${writeProblem(error, join(out, name))}.` };
  }
}

/** Reads the files that a call names by a path or a `file:` url; `text` is what is left of its input. */
async function readFiles(fields: readonly FileField[], text: string, options: LocalToolsOptions['files']) {
  const uploads = new Map<string, FileBytes>();
  const problems: FieldProblem[] = [];
  const given = options && fields.length > 0 ? readJsonObject(text) : undefined;
  // Its stages say what is wrong with it.
  if (!options || !given || 'problems' in given) return { text, uploads, problems };
  const input = { ...given.value };
  for (const { field, parameter } of fields) {
    const value = input[parameter];
    if (typeof value !== 'string' || /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(value)) continue;
    const found = await readLocalFile(value, options);
    if (typeof found === 'string') problems.push({ field: parameter, problem: found });
    else uploads.set(field, found);
    delete input[parameter];
  }
  return { text: JSON.stringify(input), uploads, problems };
}

/** The file, or what is wrong with its name. Links are followed first: what lies elsewhere is not read. */
async function readLocalFile(
  name: string,
  { folder, maxBytes }: NonNullable<LocalToolsOptions['files']>,
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
