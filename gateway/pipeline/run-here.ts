import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { type Answer, makeAnswer } from '../../pool/answer.js';
import { guard } from '../../pool/fault-guard.js';
import { nameOf } from '../../pool/json-data.js';
import { readThrown } from '../../pool/thrown.js';
import { after, type Now, onSettled } from '../after.js';
import type { HelperContext, HelperDeclaration, TextHelper } from '../helper.js';
import { readHandlerError } from '../http/read-error.js';
import type { CallState } from './state.js';

export interface RunOptions {
  /** Milliseconds that a handler may take on the main thread. */
  timeoutMs: number;
  /** Bytes of JSON that it may answer with there. */
  maxJsonBytes: number;
  logger: Pick<Logger, 'error'>;
  /** Whether the code is the package's own, which settles and lets nothing escape. */
  shipped?: boolean | undefined;
}

/** Runs a plugin's code on the main thread and makes the answer of what it returns. Throws a `GatewayError`. */
export function runHere(context: HelperContext, work: () => unknown, options: RunOptions): Now<Answer> {
  return guarded(context, options, () => answerOf(work(), options));
}

/** Whether a helper says of its calls which are short. */
export function mayBeShort(declaration: HelperDeclaration): declaration is TextHelper<unknown> {
  return declaration.source === undefined && declaration.inline !== undefined;
}

/**
 * Runs the call of a pool helper here where its `inline` says that it is short, and adds its time to what workers spent on the
 * call. Undefined for every other, which is the pool's. Throws a `GatewayError`.
 */
export function runShort(
  declaration: TextHelper<unknown>,
  { state, input }: { state: Pick<CallState, 'taskMs'>; input: Record<string, unknown> },
  context: HelperContext,
  options: RunOptions,
): Now<Answer | undefined> {
  return guarded(context, options, () => {
    if (!isShort(declaration, input)) return undefined;
    const began = performance.now();
    const count = () => {
      state.taskMs += performance.now() - began;
    };
    return onSettled(() => answerOf(declaration.handler(input, context), options), {
      done: count,
      failed: count,
    });
  });
}

/** Of what a handler returned, or will: whatever has a `then` is waited for, as `await` does. */
function answerOf(returned: unknown, { maxJsonBytes }: RunOptions): Now<Answer> {
  const isThenable = typeof (returned as PromiseLike<unknown> | null | undefined)?.then === 'function';
  return after<unknown, Answer>(isThenable ? Promise.resolve(returned) : returned, (result) =>
    makeAnswer(result, maxJsonBytes),
  );
}

/** A promise would be true, and have every call run here. */
function isShort(declaration: TextHelper<unknown>, input: Record<string, unknown>): boolean {
  const verdict: unknown = declaration.inline?.(input);
  if (typeof verdict === 'boolean') return verdict;
  throw new Error(`inline must return true or false, but it returned ${nameOf(verdict)}`);
}

/** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
function guarded<T>(
  { service, request_id }: HelperContext,
  { timeoutMs, logger, shipped }: RunOptions,
  work: () => Now<T>,
): Now<T> {
  const fail = (error: unknown): never => {
    throw readHandlerError(readThrown(error));
  };
  if (!shipped) {
    const onLate = (error: unknown) =>
      logger.error({ err: readThrown(error), service, request_id }, 'helper failed after its answer');
    return guard({ name: service, timeoutMs, onLate }, async () => work()).catch(fail);
  }
  try {
    const value = work();
    return value instanceof Promise ? value.catch(fail) : value;
  } catch (error) {
    return fail(error);
  }
}
