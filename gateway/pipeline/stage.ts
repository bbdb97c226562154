import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Answer } from '../../pool/answer.js';
import type { CallPrice } from '../../pool/costs.js';
import type { StoredBytes } from '../http/outbound-budget.js';
import type { KeyLimits } from '../keys/model.js';
import type { ActiveKey } from '../keys/verifier.js';
import type { Step, Trace, Tracing } from '../observability/tracing.js';
import type { Helper } from '../plugins/registry.js';

/** What the answer, the log, metrics and usage need of a call, however far it came. Stages hand on what others need. */
export class CallState {
  readonly requestId: string;
  trace?: Trace;
  headers: Readonly<Record<string, string>> = {};
  /** Absent on other paths than helpers'. */
  helper?: Helper;
  /** The helper of a repeated answer: that of a job's item. */
  service?: string;
  caller?: Caller;
  dryrun = false;
  bytesIn = 0;
  /** Set where the handler has fetched: its answer depends on more than its input. */
  fetched?: true;
  /** Set where the client has the answer already (304). */
  unchanged?: true;
  /** Set where a handler that changes something elsewhere may have begun. */
  mayHaveActed?: true;
  /** Milliseconds spent on the call's tasks, in a worker or on the main thread. */
  taskMs = 0;
  /** Of a dry run: what the call is likely to cost. */
  cost?: CallPrice;
  /** Set where all callers get the same body: a page or one of its files. */
  sharedBody?: true;
  /** Absent for an error and for OPTIONS. */
  result?: Answer;
  /** The bytes of `result`, which holds none then: read as fast as the client reads, and not for HEAD. */
  stored?: StoredBytes;
  /** The status of the call, where the answer has another: a tool's error is a success of its protocol. */
  cameTo?: number;
  /** The error's code, and its cause for the log alone. */
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

  abort(): void {
    this.#own.abort();
  }

  get #own(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}

export interface Caller {
  tenant: ActiveKey['tenant'];
  keyId: string;
  /** Its own limits, below the tenant's. */
  keyLimits: KeyLimits;
  /** What the key may call; null for everything. */
  scopes: readonly string[] | null;
  /** For a signed url: when it or its key expires, in seconds since 1970. */
  signedUntil?: number;
}

export type CallContext = RouterContext<CallState>;

/** Middleware around the helpers' stages, for every request of the API. */
export type CallMiddleware = Middleware<CallState, CallContext>;

/** A call of a helper at its start; each stage adds fields. */
export interface Call {
  readonly state: CallState;
  /** Bytes of the body, still to be read: 0 for none, infinite where not announced. */
  readonly bodyBytes: number;
}

export interface HttpCall extends Call {
  readonly ctx: CallContext;
}

/** A stage needs some fields of a call and hands on others, or throws. */
export type Stage<Needs, Finds extends object> = (
  call: Needs,
  next: (found: Finds) => Promise<Answer>,
) => Promise<Answer>;

export type LastStage<Needs> = (call: Needs) => Promise<Answer>;

/** A list of stages. The compiler checks that earlier ones add what each needs. */
interface Stages<First, Known> {
  /** Adds a stage; none where a helper has no need of it. */
  through<Finds extends object>(stage: Stage<Known, Finds> | undefined): Stages<First, Known & Finds>;
  to(last: LastStage<Known>): (call: First) => Promise<Answer>;
}

/** Begins a list of stages; each is a span where calls are traced. */
export function from<First extends Call>(tracing?: Tracing): Stages<First, First> {
  return stagesAfter(tracing !== undefined, (last) => last);
}

function stagesAfter<First, Known>(
  isTraced: boolean,
  reach: (last: LastStage<Known>) => (call: First) => Promise<Answer>,
): Stages<First, Known> {
  return {
    // Composed once, not for each call. A new object by spread is ten times as fast in V8 as adding fields to an existing one.
    through(stage) {
      const run = stage && isTraced ? traceStage(stage) : stage;
      return stagesAfter(isTraced, (rest) =>
        reach(run ? (call) => run(call, (found) => rest({ ...call, ...found })) : (rest as LastStage<Known>)),
      );
    },
    to: (last) => reach(isTraced ? traceLast(last) : last),
  };
}

/** The stage as a span, from its start until it hands the call on. */
function traceStage<Needs, Finds extends object>(stage: Stage<Needs, Finds>): Stage<Needs, Finds> {
  const name = spanName(stage);
  // Unnamed stages do nothing for this helper.
  if (name === '') return stage;
  return function traced(call, next) {
    const trace = traceOf(call);
    if (!trace) return stage(call, next);
    const step = trace.stage(name);
    const handOn = (found: Finds): Promise<Answer> => {
      step.end();
      return next(found);
    };
    return during(step, () => stage(call, handOn));
  };
}

/** The same for a last stage, at the end of a list or inside another. The result has no name, so it is traced once. */
export function traceLast<Needs>(last: LastStage<Needs>): LastStage<Needs> {
  const name = spanName(last);
  if (name === '') return last;
  return (call) => {
    const trace = traceOf(call);
    return trace ? during(trace.stage(name), () => last(call)) : last(call);
  };
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

const traceOf = (call: unknown): Trace | undefined => (call as { state: CallState }).state.trace;

/** `readInput` is `read-input`, as in the documents. */
function spanName({ name }: { name: string }): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
