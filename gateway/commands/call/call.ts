import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type GatewayError, inputError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import type { LocalHelpers } from '../../local/local-helpers.js';
import { createNamer, type Destination } from './deliver.js';
import { helpOf } from './help.js';
import { jobsOf } from './jobs.js';
import { callMany } from './many.js';
import { makeCall, type Outcome } from './outcome.js';
import { printOne, type Screen } from './print.js';
import type { Input } from './read-file.js';
import { unknownHelper } from './unknown-helper.js';
import { readWords, type Words } from './words.js';

/** What the command works with; the process's own but in tests. */
export interface CallSurroundings {
  local: LocalHelpers;
  /** Calls under way at a time. */
  most: number;
  input: Input;
  screen: Screen;
  /** Told the reason of a fault, of which the answer itself says nothing. */
  logger: Pick<Logger, 'error'>;
  /** Ends what is under way. */
  signal: AbortSignal;
}

const leading = new Set(['--json', '--help', '-h']);
const failedCode = 1;
const usageCode = 2;
const interruptedCode = 130;

/** Does what the words behind `call` say and gives the exit code: 1 for bad input or a bad file, 2 where there is no such helper. */
export async function runCall(words: readonly string[], around: CallSurroundings): Promise<number> {
  const { local, screen } = around;
  // Before the helper's name those that want no value may stand too.
  const at = words.findIndex((word) => !leading.has(word));
  const service = words[at] ?? '';
  const rest = words.filter((_, index) => index !== at);
  const helper = local.registry.get(service);
  if (helper === undefined) {
    const wanted = readWords(words, () => true);
    if (wanted.help) screen.stdout.write(`${unknownHelper(undefined, local.registry)}\n`);
    else if (wanted.json) {
      const message = unknownHelper(service, local.registry).split('\n', 1)[0];
      screen.stdout.write(`${JSON.stringify({ ok: false, error: { code: 'not_found', message } })}\n`);
    } else screen.stderr.write(`Error: ${unknownHelper(service, local.registry)}\n`);
    return wanted.help ? 0 : usageCode;
  }
  const { properties } = helper.parameters;
  const booleans = new Set(
    properties.filter(({ schema }) => schema.type === 'boolean').map(({ name }) => name),
  );
  const read = readWords(rest, (name) => booleans.has(name));
  if (read.help) {
    screen.stdout.write(`${helpOf(helper)}\n`);
    return 0;
  }
  return callHelper(helper, read, around);
}

async function callHelper(
  helper: Helper,
  words: Words,
  { local, most, input, screen, logger, signal }: CallSurroundings,
): Promise<number> {
  const destination: Destination = { out: words.out, outDir: words.outDir };
  const jobs = jobsOf(words, helper.declaration, input);
  const refused = placeProblem(destination, jobs.length);
  if (refused) {
    const meta = { service: helper.id, dryrun: false, request_id: randomUUID() };
    printOne({ meta, ok: false, error: refused }, screen, words.json);
    return failedCode;
  }
  const options = { local, helper, destination, namer: createNamer(destination, helper.id), signal };
  const call = async (job: (typeof jobs)[number]): Promise<Outcome> => {
    const outcome = await makeCall(job, options);
    if (!outcome.ok && outcome.error.code === 'internal') {
      const { error, file, meta } = outcome;
      const err = (error.cause ?? error) as Error;
      // What cannot be served says so itself.
      if (err.message !== error.message) logger.error({ err, file, ...meta }, 'call failed');
    }
    return outcome;
  };
  const [only] = jobs;
  const fine =
    only && jobs.length === 1
      ? printOne(await call(only), screen, words.json)
      : (await callMany({ jobs, most, call, signal, screen, json: words.json })) === 0;
  if (signal.aborted) return interruptedCode;
  return fine ? 0 : failedCode;
}

/** Results of many files cannot go into one, and one result needs one place. */
function placeProblem({ out, outDir }: Destination, count: number): GatewayError | undefined {
  if (out !== undefined && outDir !== undefined) {
    return inputError([{ field: 'out', problem: 'is given together with out-dir; give only one of them' }]);
  }
  if (out !== undefined && count > 1) {
    return inputError([
      { field: 'out', problem: `is one file for ${count} results; give a folder with --out-dir` },
    ]);
  }
  return undefined;
}
