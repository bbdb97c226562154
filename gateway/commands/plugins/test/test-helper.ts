import fc from 'fast-check';
import { uploadsOf } from '../../../../schemas/parameters.js';
import { callsOf, type GeneratedCall } from './inputs.js';
import type { Network } from './network.js';
import { type Ended, type Tried, tryCall } from './try-call.js';

/** Milliseconds for the generated inputs of one helper, looking for the smallest that fails included. */
const patienceMs = 60_000;

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
export async function testHelper(tried: Tried, options: TestOptions): Promise<HelperReport> {
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
  tried: Tried,
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

async function runGenerated(tried: Tried, { runs, seed }: TestOptions, report: HelperReport): Promise<void> {
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
  const limits = { interruptAfterTimeLimit: patienceMs, markInterruptAsFailure: false };
  const { counterexample } = await fc.check(property, { numRuns: runs, seed, ...limits });
  // The smallest input that fails is the last that did.
  if (!counterexample) return;
  const [{ input, files }] = counterexample;
  report.failures.push({ input: asSent(input), files, stage: 'generated', reason: last });
}

function isRight({ helper }: Tried, { input, files: uploaded }: GeneratedCall): boolean {
  const { declaration, parameters } = helper;
  const dryrun = input.dryrun === true && declaration.dryrun !== 'run';
  return parameters.check(input, { dryrun, uploaded }).problems.length === 0;
}

/** What is undefined is not sent. */
function asSent(input: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(input));
}

/** What an end says against the helper. It may refuse an input that fits its schema, and say what the world outside did. */
function faultOf(ended: Ended, isValid: boolean): string | undefined {
  if (ended.ok) return isValid ? undefined : 'an input that its schema refuses was answered';
  if (!isValid)
    return ended.code === 'invalid_input'
      ? undefined
      : `an input that its schema refuses gave ${ended.reason}`;
  return ['internal', 'helper_timeout', 'output'].includes(ended.code) ? ended.reason : undefined;
}
