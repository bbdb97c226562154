import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Answer } from '../../pool/answer.js';
import type { StoredBytes } from '../http/outbound-budget.js';
import type { ActiveKey } from '../keys/verifier.js';
import type { Step, Trace, Tracing } from '../observability/tracing.js';
import type { Helper } from '../plugins/registry.js';

/**
 * What is known of a call so far: all that its answer, the log, metrics and usage tell of it, however far it came. What a
 * stage needs of another is handed on by it, and does not stand here.
 */
export class CallState {
  readonly requestId: string;
  /** Follows the call; absent where nobody wants to know. */
  trace?: Trace;
  /** Fields of the answer, whatever it turns out to be. */
  headers: Readonly<Record<string, string>> = {};
  /** Absent on a path that is no helper's. */
  helper?: Helper;
  /** The helper whose answer this is, where it was given before: an item's of a job. */
  service?: string;
  /** Absent until the key has been found. */
  caller?: Caller;
  dryrun = false;
  /** Bytes of the body and of what was fetched. */
  bytesIn = 0;
  /** Set where the handler has asked for something to be fetched: its answer is of more than its input. */
  fetched?: true;
  /** Set where the client has the answer already, and is told so without it. */
  unchanged?: true;
  /** Set where a handler that changes something elsewhere may have begun. */
  mayHaveActed?: true;
  /** Milliseconds spent on the call's tasks: in a worker, or here where they were short. */
  taskMs = 0;
  /** Set where the body of the answer is one that everybody gets: a page or one of its files. */
  sharedBody?: true;
  /** Absent where the answer is none of data: an error, or OPTIONS. */
  result?: Answer;
  /** Where the bytes of `result` lie, which holds none then: they are read as the client takes them, and not for HEAD. */
  stored?: StoredBytes;
  /** The status that a call came to, where the answer has another: a tool's error is a success of its protocol. */
  cameTo?: number;
  /** The error's code, and what only the log may know. */
  code?: string;
  fault?: unknown;
  readonly #given: AbortSignal | undefined;
  #controller: AbortController | undefined;

  constructor(requestId: string, signal?: AbortSignal) {
    this.requestId = requestId;
    this.#given = signal;
  }

  /** Aborted when the client goes away. Made with its first use: a controller costs 3 µs, and a small call without one some 100. */
  get signal(): AbortSignal {
    return this.#given ?? this.#own.signal;
  }

  /** Called when the client goes away. */
  abort(): void {
    this.#own.abort();
  }

  get #own(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}

/** Whose call it is, by its key. */
export interface Caller {
  tenant: ActiveKey['tenant'];
  keyId: string;
  /** What the key may call; null is everything. */
  scopes: readonly string[] | null;
  /** Where the call came by a signed url: when that or its key ends, in seconds since 1970. */
  signedUntil?: number;
}

/** One request of the API, as Koa hands it on. */
export type CallContext = RouterContext<CallState>;

/** What stands around the helpers' stages: it sees every request of the API. */
export type CallMiddleware = Middleware<CallState, CallContext>;

/** A call of a helper as its first stage gets it; each stage adds what it found. */
export interface Call {
  readonly state: CallState;
  /** Bytes that come with the call and are still to be read: 0 for none, infinite where nobody says how many. */
  readonly bodyBytes: number;
}

/** A call that came by HTTP. */
export interface HttpCall extends Call {
  readonly ctx: CallContext;
}

/** A stage: takes a call of which it needs to know this much, and hands on what it found, or throws. */
export type Stage<Needs, Finds extends object> = (
  call: Needs,
  next: (found: Finds) => Promise<Answer>,
) => Promise<Answer>;

/** The last stage: answers. */
export type LastStage<Needs> = (call: Needs) => Promise<Answer>;

/** Stages one after another. The compiler sees to it that each finds before it what it needs. */
interface Stages<First, Known> {
  through<Finds extends object>(stage: Stage<Known, Finds>): Stages<First, Known & Finds>;
  /** Ends the list; what comes of it runs a call through all of it. */
  to(last: LastStage<Known>): (call: First) => Promise<Answer>;
}

/** Begins a list of stages, for calls of which this much is known; each is a span where calls are followed. */
export function from<First extends Call>(tracing?: Tracing): Stages<First, First> {
  return tracing
    ? tracedStages(
        tracing,
        stagesAfter((last) => last),
      )
    : stagesAfter((last) => last);
}

function tracedStages<First, Known>(tracing: Tracing, list: Stages<First, Known>): Stages<First, Known> {
  return {
    through: (stage) => tracedStages(tracing, list.through(traceStage(stage))),
    to: (last) => list.to(traceLast(tracing, last)),
  };
}

function stagesAfter<First, Known>(
  reach: (last: LastStage<Known>) => (call: First) => Promise<Answer>,
): Stages<First, Known> {
  return {
    // Made once a list and not once a call; and spread, for V8 takes ten times as long to add fields to an object that is there.
    through: (stage) =>
      stagesAfter((rest) => reach((call) => stage(call, (found) => rest({ ...call, ...found })))),
    to: reach,
  };
}

/** What stands before others, as `Stage` has it, and what stands last. */
type StageFunction<Call, Found> = (call: Call, next: (found: Found) => Promise<Answer>) => Promise<Answer>;
type LastStageFunction<Call> = (call: Call) => Promise<Answer>;

/** Those that are followed already, and are not to be twice. */
const tracedStagesKnown = new WeakSet<object>();

/** The same stage as a span of its trace, from when it is begun to when it hands on, and not until all behind it have answered. */
function traceStage<Call, Found>(stage: StageFunction<Call, Found>): StageFunction<Call, Found> {
  const name = spanName(stage);
  // What a helper has no need of does nothing for it.
  if (name === '') return stage;
  return function traced(call, next) {
    const trace = traceOf(call);
    if (!trace) return stage(call, next);
    const step = trace.stage(name);
    const handOn = (found: Found): Promise<Answer> => {
      step.end();
      return next(found);
    };
    return during(step, () => stage(call, handOn));
  };
}

/** The same for what answers, at the end of a list or inside another; without tracing it is as it was. */
export function traceLast<Call>(
  tracing: Tracing | undefined,
  last: LastStageFunction<Call>,
): LastStageFunction<Call> {
  const name = spanName(last);
  if (!tracing || name === '' || tracedStagesKnown.has(last)) return last;
  const traced: LastStageFunction<Call> = (call) => {
    const trace = traceOf(call);
    return trace ? during(trace.stage(name), () => last(call)) : last(call);
  };
  tracedStagesKnown.add(traced);
  return traced;
}

async function during(step: Step, work: () => Promise<Answer>): Promise<Answer> {
  try {
    const answer = await work();
    step.end();
    return answer;
  } catch (error) {
    step.end(error);
    throw error;
  }
}

function traceOf(call: unknown): Trace | undefined {
  return (call as { state: CallState }).state.trace;
}

/** A stage's name as the documents have it: `readInput` is `read-input`. */
function spanName({ name }: { name: string }): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
