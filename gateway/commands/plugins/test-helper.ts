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
import { GatewayError, sentenceOf } from '../../errors.js';
import type { LocalHelpers } from '../../local-helpers.js';
import { exitHint, timeHint } from '../../plugins/hints.js';
import type { Helper } from '../../plugins/registry.js';
import { callsOf, type GeneratedCall } from './test-inputs.js';

/** Milliseconds for the generated inputs of one helper, including the search for the smallest that fails. */
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
}

interface Network {
  isOpen: boolean;
}

interface TestedHelper {
  helper: Helper;
  local: Pick<LocalHelpers, 'call'>;
  checkOutput: CheckOutput | undefined;
}

/** Runs a helper's examples, then as many generated inputs. Never throws for what the helper does. */
export async function testHelper(tested: TestedHelper, options: TestOptions): Promise<HelperReport> {
  const report: HelperReport = {
    id: tested.helper.id,
    examples: 0,
    skipped: [],
    inputs: 0,
    valid: 0,
    failures: [],
  };
  await runExamples(tested, options, report);
  await runGenerated(tested, options, report);
  return report;
}

async function runExamples(
  tested: TestedHelper,
  { network, online }: TestOptions,
  report: HelperReport,
): Promise<void> {
  const { examples, files } = tested.helper.declaration;
  for (const [index, { summary, input }] of examples.entries()) {
    const call = { input, files: input.dryrun === true ? [] : uploadsOf(files, input) };
    network.isOpen = online;
    const ended = await tryCall(tested, call).finally(() => {
      network.isOpen = false;
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
  tested: TestedHelper,
  { runs, seed }: TestOptions,
  report: HelperReport,
): Promise<void> {
  let last = '';
  const property = fc.asyncProperty(callsOf(tested.helper.declaration), async (generated) => {
    const call = { ...generated, input: asSent(generated.input) };
    const isValid = isRight(tested, call);
    const wrong = faultOf(await tryCall(tested, call), isValid);
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

/** Undefined values are not sent. */
function asSent(input: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(input));
}

/** Why an end is a failure. A helper may refuse an input that fits its schema, and report errors of the world outside. */
function faultOf(ended: CallEnd, isValid: boolean): string | undefined {
  if (ended.ok) return isValid ? undefined : 'an input that its schema refuses was answered';
  if (!isValid)
    return ended.code === 'invalid_input'
      ? undefined
      : `an input that its schema refuses gave ${ended.reason}`;
  return ['internal', 'helper_timeout', 'output'].includes(ended.code) ? ended.reason : undefined;
}

/** How a call ended: `code` is that of its error, or `output` where the answer is not as declared. */
type CallEnd = { ok: true } | { ok: false; code: string; reason: string };

/** Makes a call with sample files in its file fields, and checks the answer by the declared output. */
async function tryCall(
  { helper, local, checkOutput }: TestedHelper,
  { input, files }: GeneratedCall,
): Promise<CallEnd> {
  const { declaration, parameters } = helper;
  const wanted = declaration.files.filter(({ field }) => files.includes(field));
  const uploads = new Map(wanted.map((field) => [field.field, sampleFile(field)]));
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const reply = await local.call(helper, { body: { kind: 'json', bytes }, uploads });
  if (!reply.ok) return { ok: false, code: reply.error.code, reason: failureReason(reply.error, helper) };
  if (reply.answer.kind === 'bytes' || !checkOutput) return { ok: true };
  const isDryRun = input.dryrun === true && parameters.check(input, { dryrun: true }).problems.length === 0;
  if (isDryRun && declaration.dryrun !== 'run') return { ok: true };
  const problems = checkOutput(JSON.parse(jsonText(reply.answer)));
  if (problems.length === 0) return { ok: true };
  return {
    ok: false,
    code: 'output',
    reason: `the answer is not as output says: ${problems.map(sentenceOf).join('; ')}`,
  };
}

/** For the author: of a fault the error and its place, of any other error what callers read. */
function failureReason({ code, message, details, cause }: GatewayError, { file }: Helper): string {
  if (details) return `${code}: ${details.map(sentenceOf).join('; ')}`;
  if (code === 'helper_timeout') return `${code}: ${message}${timeHint(cause)}`;
  const thrown = cause instanceof Error ? readThrown(cause) : ((cause ?? {}) as Partial<Thrown>);
  if (code !== 'internal' || typeof thrown.message !== 'string') return `${code}: ${message}`;
  const folder = pathToFileURL(dirname(file)).href;
  const frame = thrown.stack?.split('\n').find((line) => line.includes(folder));
  const place = frame?.replace(/^\s*at /, '').replace(/file:\/\//, '');
  return `${thrown.name ?? 'Error'}: ${thrown.message}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
}

/** The picture that helpers are tested with. The build leaves pictures among the sources. */
export const samplePicture = fileURLToPath(
  new URL('plugins/media/example.jpg', import.meta.resolve('helper-gateway/package.json')),
);

/** 24 × 16 blue pixels, for helpers that accept no JPEG. */
const smallPng =
  'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAAA1BMVEUwcMA3SmMMAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADklEQVQYlWNgGAWDCQAAAZAAAdjzlT8AAAAASUVORK5CYII=';

let picture: Uint8Array | undefined;

/** A file for a field: a picture, or a line of text of the first type that the field accepts. Its bytes are its own, because they are moved. */
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

/** Refuses what is fetched while the network is closed: generated inputs must not reach anybody's server. */
export function guardSource(source: Source, network: Network): Source {
  return {
    ...source,
    async fetch(...given) {
      if (network.isOpen) return source.fetch(...given);
      const message = 'Nothing is fetched here; --network lets examples fetch.';
      throw new GatewayError('source_refused', { message });
    },
  };
}
