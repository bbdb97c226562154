import { pino } from 'pino';
import { tryUrl } from '../../../schemas/input/parse.js';
import { loadConfig } from '../../config.js';
import { inputError, toGatewayError } from '../../errors.js';
import { columns } from '../output.js';
import { interruptSignal } from '../process.js';
import { createInput } from './jobs.js';
import {
  type CalledHelper,
  type CallOptions,
  failedCode,
  interruptedCode,
  printOne,
  runCall,
} from './make-calls.js';
import {
  createServerClient,
  readServedHelpers,
  type ServedHelper,
  type ServerClient,
  serverReply,
  toRequest,
} from './server.js';
import { createServerJobs } from './server-jobs.js';
import { readWords } from './words.js';

/** Options for calls of a gateway alone. */
const settings = ['server', 'key'];
/** Bytes that a file is read to: the gateway says itself what it accepts. */
const mostBytes = 1024 ** 3;

/** Calls a helper of the gateway that `--server` names. */
export async function callOnServer(words: string[]): Promise<void> {
  process.exitCode = await runOnServer(words, {
    key: loadConfig(process.env).clientKey,
    input: createInput(process.stdin, mostBytes),
    screen: process,
    signal: interruptSignal(),
  });
}

/** Makes one call as that call, those of many files as jobs; gives the exit code. `key` is for words that name none. */
export async function runOnServer(
  words: readonly string[],
  { key, ...options }: Omit<CallOptions, 'logger'> & { key: string | undefined },
): Promise<number> {
  const { screen, signal } = options;
  try {
    const client = clientOf(words, key, signal);
    const { list, find } = await readServedHelpers(client);
    const target = {
      list,
      settings,
      find(id: string) {
        const helper = find(id);
        return helper && calledHelper(helper, client, signal);
      },
    };
    return await runCall(words, target, { ...options, logger: pino({ level: 'silent' }) });
  } catch (error) {
    if (signal.aborted) return interruptedCode;
    const meta = { service: null, dryrun: false, request_id: '' };
    printOne({ meta, ok: false, error: toGatewayError(error) }, screen, words.includes('--json'));
    return failedCode;
  }
}

function clientOf(
  words: readonly string[],
  presetKey: string | undefined,
  signal: AbortSignal,
): ServerClient {
  const { more, problems } = readWords(words, () => false, settings);
  const url = more.get('server') ?? '';
  if (!/^https?:\/\/[^\s]+$/.test(url) || !tryUrl(url)) {
    const own = problems.filter(({ field }) => field === 'server');
    const problem = 'must be the address of a gateway, such as http://127.0.0.1:8080';
    throw inputError(own.length > 0 ? own : [{ field: 'server', problem }]);
  }
  return createServerClient(url, more.get('key') ?? presetKey, signal);
}

function calledHelper(helper: ServedHelper, client: ServerClient, signal: AbortSignal): CalledHelper {
  const { id, once, parameters, files, form } = helper;
  return {
    id,
    booleans: parameters.flatMap(({ name, isBoolean }) => (isBoolean ? [name] : [])),
    files,
    form,
    help: () => helpOf(helper),
    open(jobs) {
      if (jobs.length !== 1) return createServerJobs({ client, helper, jobs, signal });
      return {
        most: 1,
        call: async (job) =>
          serverReply(await client.send(`/${id}`, { ...toRequest(await job.load()), once })),
      };
    },
  };
}

function helpOf({ id, summary, parameters, files }: ServedHelper): string {
  const fileRows = files.map(({ field }) => [`  --${field} FILE`, 'a file, or "-" for standard input']);
  const rows = parameters
    .filter(({ name }) => !files.some(({ field }) => field === name))
    .map(({ name, description, isBoolean }) => [`  --${name}${isBoolean ? '' : ' VALUE'}`, description]);
  const usage = `Usage: helper-gateway call --server URL --key KEY ${id} [--parameter value …]`;
  const lines = columns([...fileRows, ...rows]);
  return [`${usage}${files.length > 0 ? ' [FILES…]' : ''}`, '', summary, '', ...lines].join('\n');
}
