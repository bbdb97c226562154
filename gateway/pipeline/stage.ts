import type { Answer } from '../../pool/answer.js';
import type { Now } from '../after.js';
import type { Tracing } from '../tracing/tracing.js';
import type { CallContext, CallState } from './state.js';
import { traceLast, traceStage } from './trace-stage.js';

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
  next: (found: Finds) => Now<Answer>,
) => Now<Answer>;

/** The last stage: answers. */
export type LastStage<Needs> = (call: Needs) => Now<Answer>;

/** Stages one after another. The compiler sees to it that each finds before it what it needs. */
export interface Stages<First, Known> {
  through<Finds extends object>(stage: Stage<Known, Finds>): Stages<First, Known & Finds>;
  /** Ends the list; what comes of it runs a call through all of it. */
  to(last: LastStage<Known>): (call: First) => Now<Answer>;
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
  reach: (last: LastStage<Known>) => (call: First) => Now<Answer>,
): Stages<First, Known> {
  return {
    // Made once a list and not once a call; and spread, for V8 takes ten times as long to add fields to an object that is there.
    through: (stage) =>
      stagesAfter((rest) => reach((call) => stage(call, (found) => rest({ ...call, ...found })))),
    to: reach,
  };
}
