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
 * Reads `{service, inputs, webhook?}` out of a body that may be long, a stretch at a time. Each input is kept as it was written,
 * and has only to be an object that a call could bring: its content is validated when it is worked on. Rejects with
 * `invalid_input` for what is no JSON at all, and with `too_large` for an input that would be so as a call's body.
 */
export async function readJobJson(
  bytes: Buffer,
  { maxTextBytes }: { maxTextBytes: number },
  yieldToEventLoop: YieldToEventLoop,
): Promise<RequestedJob> {
  const reader = new JobReader(bytes, maxTextBytes);
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

class JobReader {
  readonly problems: FieldProblem[] = [];
  readonly #bytes: Buffer;
  readonly #maxTextBytes: number;
  readonly #seen = new Set<string>();
  readonly #found: { service?: string; webhookUrl?: string } = {};
  readonly #inputs: Buffer[] = [];
  #count = 0;
  #names = 0;
  /** The member that is being read; undefined where it is passed over. */
  #member: string | undefined;

  constructor(bytes: Buffer, maxTextBytes: number) {
    this.#bytes = bytes;
    this.#maxTextBytes = maxTextBytes;
  }

  onName(start: number, end: number): void {
    this.#names += 1;
    if (this.#names > mostNames) throw new JsonFault(`not hold more than ${mostNames} names`);
    // Of a long name only the beginning is reported: to decode it, or to compare it with others, costs more than to read over it.
    const isLong = end - start > mostNameBytes;
    const name: string = isLong
      ? this.#text(start + 1, start + mostNameBytes)
      : JSON.parse(this.#text(start, end));
    const isKnown = (jobFields as readonly string[]).includes(name);
    this.#member = isKnown && !this.#seen.has(name) ? name : undefined;
    if (!isKnown) {
      const hint = this.problems.length < mostProblems ? didYouMean(name, jobFields) : '';
      this.#report(fieldName(name), `is not known; known are ${jobFields.join(', ')}${hint}`);
    } else if (this.#seen.has(name)) this.#report(name, givenTwiceProblem);
    else this.#seen.add(name);
  }

  onValue(value: WalkedValue): void {
    if (value.depth === 0) this.#takeWhole(value);
    else if (value.depth === 1) this.#takeMember(value);
    else if (this.#member === 'inputs' && value.inList) this.#takeInput(value);
  }

  /** What is being read, for messages. */
  place(): string {
    return this.#member === 'inputs' ? `inputs.${this.#count}` : (this.#member ?? 'body');
  }

  requested(): RequestedJob {
    for (const name of ['service', 'inputs']) {
      if (!this.#seen.has(name)) this.#report(name, 'is required');
    }
    return { ...this.#found, inputs: this.#inputs, problems: this.problems };
  }

  #takeWhole(value: WalkedValue): void {
    if (this.#bytes[value.start] === 0x7b) return;
    throw new JsonFault(`be a JSON object, but is ${this.#describe(value)}`);
  }

  #takeMember(value: WalkedValue): void {
    const { start, end } = value;
    if (this.#member === undefined) return;
    if (this.#member === 'inputs') this.#takeInputs(value);
    else if (end - start > mostFieldBytes) this.#report(this.#member, 'is too long');
    else this.#takeField(this.#member, this.#text(start, end));
  }

  #takeField(name: string, text: string): void {
    if (text === 'null') {
      this.#report(name, 'is null; leave it out instead');
      return;
    }
    const read = name === 'service' ? readService(JSON.parse(text)) : readWebhook(text);
    if ('problems' in read) this.problems.push(...read.problems);
    else if (name === 'service') this.#found.service = read.value;
    else this.#found.webhookUrl = read.value;
  }

  #takeInputs(value: WalkedValue): void {
    if (this.#bytes[value.start] !== 0x5b) {
      this.#report('inputs', `must be ${inputsForm}, but is ${this.#describe(value)}`);
    } else if (this.#count === 0) this.#report('inputs', `must be ${inputsForm}, but is an empty list`);
  }

  #takeInput(value: WalkedValue): void {
    const { start, end, names } = value;
    const field = `inputs.${this.#count}`;
    this.#count += 1;
    if (this.#count > mostItems) {
      // Nothing behind it is worth reading.
      const problem = `must be ${inputsForm}, but has more`;
      throw inputError(boundProblems([...this.problems, { field: 'inputs', problem }]));
    }
    if (end - start > this.#maxTextBytes) {
      throw new GatewayError('too_large', {
        message: `${field} has ${end - start} bytes; ${this.#maxTextBytes} are accepted.`,
      });
    }
    if (this.#bytes[start] !== 0x7b)
      this.#report(field, `must be an object, but is ${this.#describe(value)}`);
    else if (names > mostNames) this.#report(field, `must not hold more than ${mostNames} names`);
    else this.#inputs.push(this.#bytes.subarray(start, end));
  }

  #describe({ start, end }: WalkedValue): string {
    if (end - start <= shownBytes) return describeValue(JSON.parse(this.#text(start, end)));
    const kinds: Record<number, string> = { 34: 'a string', 91: 'a list', 123: 'an object' };
    return kinds[this.#bytes[start] as number] ?? 'a number';
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end);
  }

  #report(field: string, problem: string): void {
    this.problems.push({ field, problem });
  }
}
