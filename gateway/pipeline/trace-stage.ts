import type { Answer } from '../../pool/answer.js';
import { type Now, onSettled } from '../after.js';
import type { Trace, Tracing } from '../tracing/tracing.js';
import type { CallState } from './state.js';

/** What stands before others, as `Stage` has it, and what stands last. */
type Way<Call, Found> = (call: Call, next: (found: Found) => Now<Answer>) => Now<Answer>;
type LastWay<Call> = (call: Call) => Now<Answer>;

/** Those that are followed already, and are not to be twice. */
const followed = new WeakSet<object>();

/** The same stage as a span of its trace, from when it is begun to when it hands on, and not until all behind it have answered. */
export function traceStage<Call, Found>(stage: Way<Call, Found>): Way<Call, Found> {
  const name = spanName(stage);
  // What a helper has no need of does nothing for it.
  if (name === '') return stage;
  return function traced(call, next) {
    const trace = traceOf(call);
    if (!trace) return stage(call, next);
    const step = trace.stage(name);
    const handOn = (found: Found): Now<Answer> => {
      step.end();
      return next(found);
    };
    return onSettled(() => stage(call, handOn), {
      done: () => step.end(),
      failed: (error) => step.end(error),
    });
  };
}

/** The same for what answers, at the end of a list or inside another; without tracing it is as it was. */
export function traceLast<Call>(tracing: Tracing | undefined, last: LastWay<Call>): LastWay<Call> {
  const name = spanName(last);
  if (!tracing || name === '' || followed.has(last)) return last;
  const traced: LastWay<Call> = (call) => {
    const trace = traceOf(call);
    if (!trace) return last(call);
    const step = trace.stage(name);
    return onSettled(() => last(call), { done: () => step.end(), failed: (error) => step.end(error) });
  };
  followed.add(traced);
  return traced;
}

function traceOf(call: unknown): Trace | undefined {
  return (call as { state: CallState }).state.trace;
}

/** A stage's name as the documents have it: `readInput` is `read-input`. */
function spanName({ name }: { name: string }): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
