import { inspect } from 'node:util';
import { type Answer, jsonText } from '../../pool/answer.js';
import { didYouMean } from '../../schemas/nearest.js';
import type { JudgeOutput } from '../../schemas/output.js';
import type { GatewayError } from '../errors.js';
import { type Bench, createBench } from './bench.js';
import { callError, told } from './call-error.js';
import { readConfig } from './given-config.js';
import { readFiles } from './given-files.js';
import { openHelper } from './open-helper.js';
import type { AnswerFor, CallOptions, InputFor, OptionsFor } from './types.js';

/** What all calls of this process share; nothing of it is made before the first. */
let shared: Bench | undefined;

/**
 * Calls a helper in this process as the gateway would: the input is judged and gets its defaults, files are opened, the handler runs
 * within its time, and its result is judged, by `output` too. Resolves with `data`, or with `{body, type, headers}`. Rejects with an
 * `Error` that has the `code` and the `details` of the error's envelope.
 *
 * ```ts
 * assert.deepEqual(await call(shout, { text: 'hi' }), { text: 'HI' });
 * await assert.rejects(call(shout, { text: '' }), { code: 'invalid_input' });
 * ```
 */
export function call<Helper extends object>(
  helper: Helper,
  input: Partial<InputFor<Helper>>,
  options: OptionsFor<Helper> & { dryrun: true },
): Promise<Record<string, unknown>>;
export function call<Helper extends object>(
  helper: Helper,
  input: InputFor<Helper>,
  options?: OptionsFor<Helper>,
): Promise<AnswerFor<Helper>>;
export async function call(helper: object, input: object = {}, options: CallOptions = {}): Promise<unknown> {
  shared ??= createBench();
  return callOn(shared, helper, input, options);
}

async function callOn(bench: Bench, declared: object, input: object, options: CallOptions): Promise<unknown> {
  requireKnown(options);
  const { files = {}, signal, service = 'test/helper', fetch, log } = options;
  signal?.throwIfAborted();
  const known = await bench.know(declared);
  const { declaration } = known.helper;
  const parts = await bench.prepare(known, readConfig(options.config ?? {}, declaration.config));
  const uploads = await readFiles(files, declaration.files);
  const sent = options.dryrun ? { ...input, dryrun: true } : input;
  let thrown: unknown;
  const onThrown = (error: unknown) => {
    thrown = error;
  };
  const { helper, call, close } = openHelper(known, bench, { service, parts, fetch, log, onThrown });
  try {
    const reply = await call(helper, { body: { kind: 'json', bytes: asBytes(sent) }, uploads }, signal);
    signal?.throwIfAborted();
    if (!reply.ok) throw asThrown(reply.error, thrown);
    return readAnswer(
      reply.answer,
      reply.meta.dryrun && declaration.dryrun !== 'run' ? undefined : known.judgeOutput,
    );
  } finally {
    await close();
  }
}

const optionNames = Object.keys({
  files: true,
  config: true,
  dryrun: true,
  fetch: true,
  signal: true,
  log: true,
  service: true,
} satisfies Record<keyof CallOptions, true>);

/** Types tell authors of JavaScript nothing, and a test whose files are not sent passes for a wrong reason. */
function requireKnown(options: object): void {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${unknown} is no option of call${didYouMean(unknown, optionNames)}`);
}

function asBytes(input: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(input));
}

/** Of a fault an author wants to see what was thrown, which callers are never told. */
function asThrown({ code, message, details, cause }: GatewayError, thrown: unknown): Error {
  if (code !== 'internal')
    return callError(code, details ? told(details) : message, { details, cause: thrown });
  const reason = thrown ?? cause;
  return callError(code, reason instanceof Error ? reason.message : inspect(reason), { cause: reason });
}

/** What was sent; rejects with `output` where it is data that the declaration does not describe. A dry run's is its own. */
function readAnswer(answer: Answer, judgeOutput: JudgeOutput | undefined): unknown {
  if (answer.kind === 'bytes') {
    const { bytes: body, type, headers = {} } = answer;
    return { body, type, headers };
  }
  const data = JSON.parse(jsonText(answer)) as object;
  const details = judgeOutput?.(data) ?? [];
  if (details.length === 0) return data;
  throw callError('output', `the answer is not as output says: ${told(details)}`, { details });
}
