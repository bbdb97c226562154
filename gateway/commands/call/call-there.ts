import { pino } from 'pino';
import { tryUrl } from '../../../schemas/try-url.js';
import { loadConfig } from '../../config.js';
import { inputError, toGatewayError } from '../../errors.js';
import { createInput, type Input, jobsOf } from './jobs.js';
import {
  failedCode,
  interruptedCode,
  makeCalls,
  printOne,
  printText,
  printUnknown,
  type Screen,
  unknownHelper,
} from './make-calls.js';
import {
  createServerClient,
  readServedHelpers,
  type ServedHelper,
  type ServerClient,
  serverReply,
  toRequest,
} from './server.js';
import { createServerJobs, type ServerJobs } from './server-jobs.js';
import { readWords, serviceAt, type Words } from './words.js';

/** What says where the gateway is; these are options of this way of calling alone. */
const ownSettings = ['server', 'key'];
/** Bytes that a file is read to: what a gateway takes, it says itself. */
const mostBytes = 1024 ** 3;

export interface ServerCallOptions {
  /** The API key where the words name none. */
  key: string | undefined;
  input: Input;
  screen: Screen;
  signal: AbortSignal;
}

/** Calls a helper of a gateway elsewhere, by the words of a command line. */
export async function callOnServer(words: string[]): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  process.exitCode = await runOnServer(words, {
    key: loadConfig(process.env).clientKey,
    input: createInput(process.stdin, mostBytes),
    screen: process,
    signal: interrupted.signal,
  });
}

/** Does what the words say and gives the exit code, as `runCall` does: of one call by that call, of many files by jobs. */
export async function runOnServer(words: readonly string[], around: ServerCallOptions): Promise<number> {
  const first = readWords(words, () => false, ownSettings);
  const isJson = words.includes('--json');
  try {
    const client = clientOf(first, around);
    const helpers = await readServedHelpers(client);
    const at = serviceAt(words, (word) => helpers.find(word) !== undefined, ownSettings);
    const service = words[at];
    if (service === undefined && first.help) {
      printText(around.screen.stdout, unknownHelper(undefined, helpers.list));
      return 0;
    }
    const helper = service === undefined ? undefined : helpers.find(service);
    if (helper === undefined) return printUnknown(service ?? '', helpers.list, around.screen, isJson);
    const booleans = new Set(helper.parameters.flatMap(({ name, isBoolean }) => (isBoolean ? [name] : [])));
    const rest = words.filter((_, index) => index !== at);
    const read = readWords(rest, (name) => booleans.has(name), ownSettings);
    if (read.help) {
      printText(around.screen.stdout, describe(helper));
      return 0;
    }
    return await call(helper, read, client, around);
  } catch (error) {
    if (around.signal.aborted) return interruptedCode;
    const meta = { service: null, dryrun: false, request_id: '' };
    printOne({ meta, ok: false, error: toGatewayError(error) }, around.screen, isJson);
    return failedCode;
  }
}

async function call(
  helper: ServedHelper,
  words: Words,
  client: ServerClient,
  { input, screen, signal }: ServerCallOptions,
): Promise<number> {
  const jobs = jobsOf(
    words,
    { files: helper.files.map((file) => ({ ...file, kind: 'bytes', required: false })) },
    input,
  );
  const { form } = helper;
  const each = { service: helper.id, words, jobs, form, screen, signal, logger: pino({ level: 'silent' }) };
  if (jobs.length === 1) {
    return makeCalls({
      ...each,
      most: 1,
      call: async (job) =>
        serverReply(
          await client.send(`/${helper.id}`, { ...toRequest(await job.load()), once: helper.once }),
        ),
    });
  }
  let run: ServerJobs | undefined;
  try {
    return await makeCalls({
      ...each,
      most: jobs.length,
      begin() {
        run = createServerJobs({ client, helper, jobs, signal });
        return run.begun;
      },
      call: (job) => (run as ServerJobs).reply(job),
    });
  } finally {
    await run?.close();
  }
}

function clientOf({ more, problems }: Words, { key, signal }: ServerCallOptions): ServerClient {
  const server = more.get('server') ?? '';
  if (!/^https?:\/\/[^\s]+$/.test(server) || !tryUrl(server)) {
    const own = problems.filter(({ field }) => field === 'server');
    const problem = 'must be the address of a gateway, such as http://127.0.0.1:8080';
    throw inputError(own.length > 0 ? own : [{ field: 'server', problem }]);
  }
  return createServerClient({ url: server, key: more.get('key') ?? key, signal });
}

function describe({ id, summary, parameters, files }: ServedHelper): string {
  const rows = [
    ...files.map(({ field }) => [`--${field} FILE`, 'a file, or "-" for standard input']),
    ...parameters
      .filter(({ name }) => !files.some(({ field }) => field === name))
      .map(({ name, description, isBoolean }) => [isBoolean ? `--${name}` : `--${name} VALUE`, description]),
  ];
  const width = Math.max(0, ...rows.map(([flag = '']) => flag.length));
  return [
    `Usage: helper-gateway call --server URL --key KEY ${id} [--parameter value …]${files.length > 0 ? ' [FILES…]' : ''}`,
    '',
    summary,
    '',
    ...rows.map(([flag = '', what]) => `  ${flag.padEnd(width)}  ${what}`.trimEnd()),
  ].join('\n');
}
