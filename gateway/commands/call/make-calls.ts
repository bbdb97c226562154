import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Reply } from '../../local/local-helpers.js';
import type { Job } from './jobs.js';
import { callMany } from './many.js';
import { makeCall, type Outcome } from './outcome.js';
import { printOne, type Screen } from './print.js';
import { type AnswerForm, planResults } from './result-places.js';
import type { Words } from './words.js';

/** The calls of a command line, and who answers them. */
export interface CallsToMake {
  service: string;
  words: Words;
  jobs: readonly Job[];
  form: AnswerForm;
  /** What has to be done before the first call, once it is known that the results have a place. */
  begin?(): Promise<void>;
  /** Makes one of them. Throws what cannot be sent. */
  call(job: Job): Promise<Reply>;
  /** Calls under way at a time. */
  most: number;
  screen: Screen;
  /** Told the reason of a fault, of which the answer itself says nothing. */
  logger: Pick<Logger, 'error'>;
  /** Ends what is under way. */
  signal: AbortSignal;
}

export const failedCode = 1;
export const usageCode = 2;
export const interruptedCode = 130;

/** Makes the calls, writes and prints what comes of them, and gives the exit code. */
export async function makeCalls({
  service,
  words,
  jobs,
  form,
  begin,
  call,
  most,
  screen,
  logger,
  signal,
}: CallsToMake): Promise<number> {
  const places = await planResults({ words, service, jobs, form });
  if (places.problem) {
    const meta = { service, dryrun: false, request_id: randomUUID() };
    printOne({ meta, ok: false, error: places.problem }, screen, words.json);
    return failedCode;
  }
  await begin?.();
  const option = words.outDir === undefined ? 'out' : 'out-dir';
  const make = async (job: Job): Promise<Outcome> => {
    const outcome = await makeCall(job, { service, call, option, places });
    if (!outcome.ok && outcome.error.code === 'internal' && !signal.aborted) {
      const { error, file, meta } = outcome;
      const err = (error.cause ?? error) as Error;
      // What cannot be served says so itself.
      if (err.message !== error.message) logger.error({ err, file, ...meta }, 'call failed');
    }
    return outcome;
  };
  const [only] = jobs;
  if (!only || jobs.length > 1) {
    const failed = await callMany({ jobs, most, call: make, signal, screen, json: words.json });
    if (signal.aborted) return interruptedCode;
    return failed === 0 ? 0 : failedCode;
  }
  const outcome = await make(only);
  if (signal.aborted && !outcome.ok) return interruptedCode;
  const fine = printOne(outcome, screen, words.json);
  if (signal.aborted) return interruptedCode;
  return fine ? 0 : failedCode;
}
