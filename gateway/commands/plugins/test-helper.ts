import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { jsonText } from '../../../pool/answer.js';
import { readThrown, type Thrown } from '../../../pool/errors.js';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import type { CheckOutput } from '../../../schemas/parameters/compile-schema.js';
import { uploadsOf } from '../../../schemas/parameters/parameters.js';
import type { Source } from '../../download/fetch.js';
import { GatewayError } from '../../errors.js';
import type { LocalHelpers } from '../../local-helpers.js';
import { exitHint, timeHint } from '../../plugins/hints.js';
import type { Helper } from '../../plugins/registry.js';
import { callsOf, type GeneratedCall } from './test-inputs.js';

/** Milliseconds for the generated inputs of one helper, looking for the smallest that fails included. */
const generatedTimeMs = 60_000;

/** A call that should have ended otherwise. */
export interface Failure extends GeneratedCall {
  stage: 'example' | 'generated';
  reason: string;
}

export interface HelperReport {
  id: string;
  /** Examples that were run, and why others were not. */
  examples: number;
  skipped: string[];
  /** Generated inputs, and how many of them were right by the schema. */
  inputs: number;
  valid: number;
  failures: Failure[];
}

export interface TestOptions {
  runs: number;
  seed: number;
  network: Network;
  /** Lets examples fetch. */
  online: boolean;
  /** Calls helpers that change something elsewhere. */
  effects: boolean;
}

/** Runs a helper's examples, then as many generated inputs. Never throws for what the helper does. */
export async function testHelper(tried: TestedHelper, options: TestOptions): Promise<HelperReport> {
  const report: HelperReport = {
    id: tried.helper.id,
    examples: 0,
    skipped: [],
    inputs: 0,
    valid: 0,
    failures: [],
  };
  await runExamples(tried, options, report);
  await runGenerated(tried, options, report);
  return report;
}

async function runExamples(
  tried: TestedHelper,
  { network, online }: TestOptions,
  report: HelperReport,
): Promise<void> {
  const { examples, files } = tried.helper.declaration;
  for (const [index, { summary, input }] of examples.entries()) {
    const call = { input, files: input.dryrun === true ? [] : uploadsOf(files, input) };
    network.open = online;
    const ended = await tryCall(tried, call).finally(() => {
      network.open = false;
    });
    if (!ended.ok && ended.code === 'source_refused' && !online) {
      report.skipped.push(`example ${index + 1}${summary ? ` (${summary})` : ''} fetches: --network lets it`);
      continue;
    }
    report.examples += 1;
    if (!ended.ok) report.failures.push({ ...call, stage: 'example', reason: ended.reason });
  }
}

async function runGenerated(
  tried: TestedHelper,
  { runs, seed }: TestOptions,
  report: HelperReport,
): Promise<void> {
  let last = '';
  const property = fc.asyncProperty(callsOf(tried.helper.declaration), async (generated) => {
    const call = { ...generated, input: asSent(generated.input) };
    const isValid = isRight(tried, call);
    const wrong = faultOf(await tryCall(tried, call), isValid);
    report.inputs += 1;
    if (isValid) report.valid += 1;
    if (wrong !== undefined) last = wrong;
    return wrong === undefined;
  });
  if (runs === 0) return;
  const limits = { interruptAfterTimeLimit: generatedTimeMs, markInterruptAsFailure: false };
  const { counterexample } = await fc.check(property, { numRuns: runs, seed, ...limits });
  // The smallest input that fails is the last that did.
  if (!counterexample) return;
  const [{ input, files }] = counterexample;
  report.failures.push({ input: asSent(input), files, stage: 'generated', reason: last });
}

function isRight({ helper }: TestedHelper, { input, files: uploaded }: GeneratedCall): boolean {
  const { declaration, parameters } = helper;
  const dryrun = input.dryrun === true && declaration.dryrun !== 'run';
  return parameters.check(input, { dryrun, uploaded }).problems.length === 0;
}

/** What is undefined is not sent. */
function asSent(input: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(input));
}

/** What an end says against the helper. It may refuse an input that fits its schema, and say what the world outside did. */
function faultOf(ended: CallEnd, isValid: boolean): string | undefined {
  if (ended.ok) return isValid ? undefined : 'an input that its schema refuses was answered';
  if (!isValid)
    return ended.code === 'invalid_input'
      ? undefined
      : `an input that its schema refuses gave ${ended.reason}`;
  return ['internal', 'helper_timeout', 'output'].includes(ended.code) ? ended.reason : undefined;
}

/** A helper that is tried. */
interface TestedHelper {
  helper: Helper;
  local: Pick<LocalHelpers, 'call'>;
  judgeOutput: CheckOutput | undefined;
}

/** How a call ended: `code` is that of its error, or `output` where the answer is not as declared. */
type CallEnd = { ok: true } | { ok: false; code: string; reason: string };

/** Makes a call with sample files in its file fields, and holds the answer to the declared output. */
async function tryCall(
  { helper, local, judgeOutput }: TestedHelper,
  { input, files }: GeneratedCall,
): Promise<CallEnd> {
  const { declaration, parameters } = helper;
  const wanted = declaration.files.filter(({ field }) => files.includes(field));
  const uploads = new Map(wanted.map((field) => [field.field, sampleFile(field)]));
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const { error, reply } = await local
    .call(helper, { body: { kind: 'json', bytes }, uploads })
    .then((each) => ({ reply: each, error: each.ok ? undefined : each.error }));
  if (error) return { ok: false, code: error.code, reason: failureReason(error, helper) };
  if (!reply.ok || reply.answer.kind === 'bytes' || !judgeOutput) return { ok: true };
  const isRehearsal =
    parameters.check(input, { dryrun: true }).problems.length === 0 && input.dryrun === true;
  if (isRehearsal && declaration.dryrun !== 'run') return { ok: true };
  const { answer } = reply;
  const problems = judgeOutput(JSON.parse(jsonText(answer)));
  if (problems.length === 0) return { ok: true };
  const told = problems.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  return { ok: false, code: 'output', reason: `the answer is not as output says: ${told}` };
}

/** What the author is to read: of a fault what was thrown and where, of any other error what callers read. */
function failureReason({ code, message, details, cause }: GatewayError, { file }: Helper): string {
  if (details) return `${code}: ${details.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`;
  if (code === 'helper_timeout') return `${code}: ${message}${timeHint(cause)}`;
  const thrown = cause instanceof Error ? readThrown(cause) : ((cause ?? {}) as Partial<Thrown>);
  if (code !== 'internal' || typeof thrown.message !== 'string') return `${code}: ${message}`;
  const folder = pathToFileURL(dirname(file)).href;
  const frame = thrown.stack?.split('\n').find((line) => line.includes(folder));
  const place = frame?.replace(/^\s*at /, '').replace(/file:\/\//, '');
  return `${thrown.name ?? 'Error'}: ${thrown.message}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
}

/** The picture that a helper is tried with. Pictures are no code, so the build leaves it among the sources. */
export const samplePicture = fileURLToPath(
  new URL('plugins/media/example.jpg', import.meta.resolve('helper-gateway/package.json')),
);

/** One blue of 24 × 16 pixels, for who takes no JPEG. */
const smallPng =
  'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAAA1BMVEUwcMA3SmMMAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADklEQVQYlWNgGAWDCQAAAZAAAdjzlT8AAAAASUVORK5CYII=';

let picture: Uint8Array | undefined;

/** A file for a field: a picture, or a line of text of the first type that the field takes. Bytes of its own, for they are moved. */
function sampleFile({ kind, types, maxBytes }: FileField): FileBytes {
  const type = types?.find((each) => !each.endsWith('/*'));
  if (kind === 'image' && type === 'image/png') {
    return { bytes: new Uint8Array(Buffer.from(smallPng, 'base64')), type, name: 'example.png' };
  }
  if (kind === 'image') {
    picture ??= readFileSync(samplePicture);
    return { bytes: new Uint8Array(picture), type: 'image/jpeg', name: 'example.jpg' };
  }
  const bytes = new TextEncoder().encode('name,size\none,1\n'.slice(0, maxBytes));
  return { bytes, type: type ?? 'text/plain', name: 'example.txt' };
}

/** The door to the network: generated inputs are nobody else's to answer. */
interface Network {
  open: boolean;
  guard(source: Source): Source;
}

/** Makes it closed: all that is fetched is refused until it is opened. */
export function createNetwork(): Network {
  const network: Network = {
    open: false,
    guard: (source) => ({
      ...source,
      fetch: (...given) => (network.open ? source.fetch(...given) : refuseFetch()),
    }),
  };
  return network;
}

async function refuseFetch(): Promise<never> {
  throw new GatewayError('source_refused', {
    message: 'Nothing is fetched here; --network lets examples fetch.',
  });
}
