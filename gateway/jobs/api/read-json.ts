import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { boundProblems, type FieldProblem, fieldName, mostProblems } from '../../../schemas/field-problem.js';
import { JsonFault, JsonWalk, type WalkedValue } from '../../../schemas/input/json-walk.js';
import { mostNames } from '../../../schemas/input/parse.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue } from '../../../schemas/quote.js';
import { GatewayError, inputError } from '../../errors.js';
import { mostItems } from '../model.js';
import {
  givenTwiceProblem,
  inputsForm,
  jobFields,
  mostFieldBytes,
  type RequestedJob,
  readService,
  readWebhook,
} from './fields.js';

/** Milliseconds that one piece of work may hold the main thread, which is everybody's. */
const longestTurnMs = 4;

/** To be called often in long work: lets the others go on where it has held the thread for some milliseconds. */
export type YieldToEventLoop = () => Promise<void> | undefined;

export function createYieldToEventLoop(): YieldToEventLoop {
  let since = performance.now();
  return function yieldToEventLoop() {
    if (performance.now() - since < longestTurnMs) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}

/** Bytes that are walked over without looking at the time. */
const stretch = 64 * 1024;
/** Bytes of a name that is decoded. */
const mostNameBytes = 512;
/** Bytes of a value that are worth being shown to its sender. */
const shownBytes = 200;

/**
 * Reads `{service, inputs, webhook?}` out of a body that may be long, a stretch at a time. Each input is kept as it was written, and has
 * only to be an object that a call could bring. Rejects with `invalid_input` for what is not JSON, and `too_large` for too long an input.
 */
export async function readJobJson(
  bytes: Buffer,
  { maxTextBytes }: { maxTextBytes: number },
  yieldToEventLoop: YieldToEventLoop,
): Promise<RequestedJob> {
  const reader = createJobReader(bytes, maxTextBytes);
  if (bytes.length > 0) {
    const walk = new JsonWalk(bytes, reader);
    try {
      while (walk.step(stretch)) await yieldToEventLoop();
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      const field = error.isOfValue ? reader.place() : 'body';
      const problem = { field, problem: `must ${error.message}` };
      throw inputError(boundProblems([...reader.problems, problem]));
    }
  }
  return reader.requested();
}

function createJobReader(bytes: Buffer, maxTextBytes: number) {
  const problems: FieldProblem[] = [];
  const inputs: Buffer[] = [];
  const requested: RequestedJob = { inputs, problems };
  const seen = new Set<string>();
  let count = 0;
  let nameCount = 0;
  /** The member that is being read; undefined where it is passed over. */
  let member: string | undefined;

  const textOf = (start: number, end: number) => bytes.toString('utf8', start, end);
  const report = (field: string, problem: string) => void problems.push({ field, problem });

  function describe({ start, end }: WalkedValue): string {
    if (end - start <= shownBytes) return describeValue(JSON.parse(textOf(start, end)));
    const kinds: Record<number, string> = { 34: 'a string', 91: 'a list', 123: 'an object' };
    return kinds[bytes[start] as number] ?? 'a number';
  }

  function readMember(value: WalkedValue): void {
    const { start, end } = value;
    if (member === undefined) return;
    if (member !== 'inputs') {
      if (end - start > mostFieldBytes) report(member, 'is too long');
      else readField(member, textOf(start, end));
    } else if (bytes[start] !== 0x5b) report('inputs', `must be ${inputsForm}, but is ${describe(value)}`);
    else if (count === 0) report('inputs', `must be ${inputsForm}, but is an empty list`);
  }

  function readField(name: string, text: string): void {
    if (text === 'null') report(name, 'is null; leave it out instead');
    else if (name === 'service') readService(requested, JSON.parse(text));
    else readWebhook(requested, text);
  }

  function readInput(value: WalkedValue): void {
    const { start, end, names } = value;
    const field = `inputs.${count}`;
    count += 1;
    if (count > mostItems) {
      // Nothing behind it is worth reading.
      const problem = `must be ${inputsForm}, but has more`;
      throw inputError(boundProblems([...problems, { field: 'inputs', problem }]));
    }
    if (end - start > maxTextBytes) {
      const message = `${field} has ${end - start} bytes; ${maxTextBytes} are accepted.`;
      throw new GatewayError('too_large', { message });
    }
    if (bytes[start] !== 0x7b) report(field, `must be an object, but is ${describe(value)}`);
    else if (names > mostNames) report(field, `must not hold more than ${mostNames} names`);
    else inputs.push(bytes.subarray(start, end));
  }

  return {
    problems,
    onName(start: number, end: number): void {
      nameCount += 1;
      if (nameCount > mostNames) throw new JsonFault(`not hold more than ${mostNames} names`);
      // Of a long name only the beginning is reported: to decode it, or to compare it with others, costs more than to read over it.
      const isLong = end - start > mostNameBytes;
      const name: string = isLong ? textOf(start + 1, start + mostNameBytes) : JSON.parse(textOf(start, end));
      const isKnown = (jobFields as readonly string[]).includes(name);
      member = isKnown && !seen.has(name) ? name : undefined;
      if (!isKnown) {
        const hint = problems.length < mostProblems ? didYouMean(name, jobFields) : '';
        report(fieldName(name), `is not known; known are ${jobFields.join(', ')}${hint}`);
      } else if (seen.has(name)) report(name, givenTwiceProblem);
      else seen.add(name);
    },
    onValue(value: WalkedValue): void {
      if (value.depth === 0 && bytes[value.start] !== 0x7b)
        throw new JsonFault(`be a JSON object, but is ${describe(value)}`);
      if (value.depth === 1) readMember(value);
      else if (value.depth > 1 && member === 'inputs' && value.inList) readInput(value);
    },
    /** What is being read, for messages. */
    place: () => (member === 'inputs' ? `inputs.${count}` : (member ?? 'body')),
    requested(): RequestedJob {
      for (const name of ['service', 'inputs']) if (!seen.has(name)) report(name, 'is required');
      return requested;
    },
  };
}
