import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { BodyAnswer } from '../../../pool/body-answer.js';
import { readJsonObject } from '../../../schemas/input/json-object.js';
import { inputError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import type { LocalHelpers } from '../../local/local-helpers.js';
import { writeProblem } from '../../write-problem.js';
import { toBeShown } from '../sizes.js';
import { errorResult } from '../tool-error.js';
import { toolResult, type Whole } from '../tool-result.js';
import type { Toolbox } from '../tool-server.js';
import { toolsOf } from '../tools.js';
import { type FilesRead, type LocalFilesOptions, readLocalFiles } from './local-files.js';
import { saveFile } from './save-file.js';

export interface LocalToolsOptions {
  helpers: Pick<LocalHelpers, 'registry' | 'call'>;
  /** The folder that files are written into; undefined keeps none. */
  out: string | undefined;
  /** Where files are read from that calls name by their paths; undefined reads none. */
  files: LocalFilesOptions | undefined;
  /** Told of faults, of which an agent hears the request's id alone. */
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
    const shown = toBeShown();
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
    return toolResult({ answer, helper, whole, preview: shown.preview, kept: out !== undefined });
  }

  return {
    list: () => [...tools.values()].map(({ definition }) => definition),
    call(name, input, signal) {
      const tool = tools.get(name);
      return tool && call(tool.helper, input, signal);
    },
  };
}

async function keep(out: string | undefined, { bytes }: BodyAnswer, name: string): Promise<Whole> {
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
