import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { type Answer, makeAnswer } from '../../pool/answer.js';
import type { CallScope } from '../../pool/context/call-scope.js';
import { refusalIn } from '../../pool/context/fetch-error.js';
import { guard } from '../../pool/fault-guard.js';
import { nameOf } from '../../pool/json-data.js';
import { restoreObjectPrototype } from '../../pool/object-prototype.js';
import { isInspected } from '../../pool/task-deadline.js';
import { readThrown } from '../../pool/thrown.js';
import { after, type Now, onSettled } from '../after.js';
import type { HelperContext } from '../helper.js';
import type { MainHelpers } from '../helpers/main-helpers.js';
import type { HelperFunctions } from '../helpers/registry.js';
import { readHandlerError } from '../http/read-error.js';
import type { MainScopeParts } from './main-scope.js';
import type { CallState } from './state.js';

export interface RunOptions extends MainScopeParts {
  /** Milliseconds that a handler may take. */
  timeoutMs: number;
  /** Bytes of JSON that it may answer with. */
  maxJsonBytes: number;
  /** Bytes that one answer may have. */
  maxBodyBytes?: number | undefined;
  logger: Pick<Logger, 'error'>;
  /** What helpers keep on this thread. */
  helpers: MainHelpers;
}

/** How one helper's code is run on the main thread. */
export interface RunHereOptions
  extends Pick<RunOptions, 'timeoutMs' | 'maxJsonBytes' | 'maxBodyBytes' | 'logger'> {
  /** Whether the code is the package's own, which settles and lets nothing escape. */
  shipped?: boolean | undefined;
}

/** A call on this thread: what its handler gets, and what is told of its end. */
export interface CallHere {
  context: HelperContext;
  scope: CallScope;
}

/** Runs a plugin's code on the main thread and makes the answer of what it returns. Throws a `GatewayError`. */
export function runHere({ scope }: CallHere, work: () => unknown, options: RunHereOptions): Now<Answer> {
  return guarded(scope, options, () => answerOf(work(), options));
}

/** A helper's functions where it says of its calls which are short. */
export type ShortFunctions = HelperFunctions & Required<Pick<HelperFunctions, 'inline'>>;

/** Whether a helper says of its calls which are short. */
export function mayBeShort(functions: HelperFunctions | undefined): functions is ShortFunctions {
  return functions?.inline !== undefined;
}

/**
 * Runs the call of a pool helper here where its `inline` says that it is short, and adds its time to what workers spent on the
 * call. Undefined for every other, which is the pool's. Throws a `GatewayError`.
 */
export function runShort(
  functions: ShortFunctions,
  { state, input }: { state: Pick<CallState, 'taskMs'>; input: Record<string, unknown> },
  { scope, context }: CallHere,
  options: RunHereOptions,
): Now<Answer | undefined> {
  return guarded(scope, options, () => {
    if (!isShort(functions, input)) return undefined;
    const began = performance.now();
    const count = () => {
      state.taskMs += performance.now() - began;
    };
    return onSettled(() => answerOf(functions.handler(input, context), options), {
      done: count,
      failed: count,
    });
  });
}

/** Of what a handler returned, or will: whatever has a `then` is waited for, as `await` does. */
function answerOf(returned: unknown, { maxJsonBytes, maxBodyBytes }: RunHereOptions): Now<Answer> {
  const isThenable = typeof (returned as PromiseLike<unknown> | null | undefined)?.then === 'function';
  return after<unknown, Answer>(isThenable ? Promise.resolve(returned) : returned, (result) =>
    makeAnswer(result, maxJsonBytes, maxBodyBytes),
  );
}

/** A promise would be true, and have every call run here. */
function isShort({ inline }: ShortFunctions, input: Record<string, unknown>): boolean {
  const verdict = inline(input);
  if (typeof verdict === 'boolean') return verdict;
  throw new Error(`inline must return true or false, but it returned ${nameOf(verdict)}`);
}

/** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
function guarded<T>(
  scope: CallScope,
  { timeoutMs, logger, shipped }: RunHereOptions,
  work: () => Now<T>,
): Now<T> {
  const { service, request_id } = scope.ids;
  const tell = (error: unknown) => scope.redacted(readThrown(error));
  const fail = (error: unknown): never => {
    throw readHandlerError(tell(error), refusalIn(error));
  };
  if (!shipped) {
    return guard(
      {
        name: service,
        timeoutMs,
        isPaused: isInspected,
        onTime: () => scope.abort('deadline'),
        onLate: (error) =>
          logger.error({ err: tell(error), service, request_id }, 'helper failed after its answer'),
      },
      async () => work(),
    )
      .catch(fail)
      .finally(() => {
        restoreObjectPrototype(service);
        scope.end();
      });
  }
  try {
    const value = work();
    return value instanceof Promise ? value.catch(fail) : value;
  } catch (error) {
    return fail(error);
  }
}
