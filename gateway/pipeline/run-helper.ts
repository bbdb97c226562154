import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { type Answer, type BodyAnswer, jsonAnswer, makeAnswer, nameOf } from '../../pool/answer.js';
import type { CallScope } from '../../pool/context/call-scope.js';
import { HandlerContext } from '../../pool/context/handler-context.js';
import { refusalIn } from '../../pool/context/messages.js';
import { readThrown } from '../../pool/errors.js';
import { guard } from '../../pool/plugin.js';
import type { CallTask } from '../../pool/task.js';
import { restoreObjectPrototype } from '../../pool/thread-settings.js';
import { isInspected } from '../../pool/time-limits.js';
import { asSchema } from '../../schemas/json-schema.js';
import { readHandlerError } from '../errors.js';
import type { HelperContext } from '../helper.js';
import { type MainHelpers, runsOnMain } from '../plugins/main-helpers.js';
import type { Helper, HelperFunctions } from '../plugins/registry.js';
import { type AdmittedCall, runTask } from './admit.js';
import type { SourceFound } from './fetch-source.js';
import { type FetchForCall, MainScope, type MainScopeParts } from './main-scope.js';
import type { Caller, CallState, LastStage } from './stage.js';

/** A call with all that its handler needs. */
interface HandlerCall extends AdmittedCall, SourceFound {
  input: Record<string, unknown>;
  caller: Caller;
}

/** How a helper's calls run in the pool. */
interface PoolOptions {
  fetch: FetchForCall;
  /** The helper's own deadline, where it is shorter than any task's. */
  timeoutMs: number | undefined;
  does: CallTask['does'];
  /** What the call asks for, where that makes it unlike the helper's others in cost. */
  variant: (input: Record<string, unknown>) => string | undefined;
}

/** Calls the handler where the plugin says, or gives a dry run's answer. What this thread has not imported is a worker's. */
export function runHelper(helper: Helper, forAll: RunOptions): LastStage<HandlerCall> {
  const { id: service, declaration, functions, shipped } = helper;
  const { timeoutMs: own = Number.POSITIVE_INFINITY } = declaration;
  const timeoutMs = Math.min(own, forAll.timeoutMs);
  const here = { ...forAll, timeoutMs, shipped };
  const inPool = {
    fetch: forAll.fetch,
    timeoutMs: own < forAll.timeoutMs ? own : undefined,
    variant: variantOf(helper),
  };
  const parts = forAll.helpers.partsOf(helper);
  const handlesHere = declaration.runs === 'inline' ? functions : undefined;
  // Where what `setup` made is.
  const rehearsesHere = !declaration.setup || runsOnMain(helper) ? functions?.dryrun : undefined;

  return async function runHelper(call) {
    const { state, input } = call;
    if (state.dryrun && declaration.dryrun === 'operation') {
      return jsonAnswer({ operation: service.slice(service.lastIndexOf('/') + 1) });
    }
    if (state.dryrun && declaration.dryrun === 'own') {
      if (!rehearsesHere) return runInPool(helper, call, { ...inPool, does: 'dryrun' });
      const its = callHere(call);
      return runHere(its, () => rehearsesHere(input, its.context), here);
    }
    if (declaration.effects) state.mayHaveActed = true;
    if (handlesHere) {
      const its = callHere(call);
      return runHere(its, () => handlesHere.handler(input, its.context), here);
    }
    const pooled = () => runInPool(helper, call, { ...inPool, does: 'handler' });
    if (!mayBeShort(functions)) return pooled();
    return (await runShort(functions, call, callHere(call), here)) ?? pooled();
  };

  function callHere(call: HandlerCall): CallHere {
    const ids = { service, request_id: call.state.requestId };
    const scope = new MainScope(call, ids, forAll, parts);
    return { scope, context: new HandlerContext(scope, parts) as HelperContext };
  }
}

async function runInPool(
  { id: service, url: plugin }: Helper,
  call: HandlerCall,
  { fetch, timeoutMs, does, variant: variantFor }: PoolOptions,
): Promise<Answer> {
  const { input, files, state } = call;
  const variant = variantFor(input);
  const task: CallTask = {
    kind: 'call',
    plugin,
    does,
    input,
    context: { service, request_id: state.requestId },
    ...(files ? { files } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(variant === undefined ? {} : { variant }),
  };
  const outcome = await runTask(call, task, { fetch: (request, signal) => fetch(call, request, signal) });
  if (!outcome.ok) throw readHandlerError(outcome, outcome.refusal);
  return outcome.value;
}

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
interface RunHereOptions extends Pick<RunOptions, 'timeoutMs' | 'maxJsonBytes' | 'maxBodyBytes' | 'logger'> {
  /** Whether the code is the package's own, which settles and lets nothing escape. */
  shipped?: boolean | undefined;
}

/** A call on this thread: what its handler gets, and what is told of its end. */
interface CallHere {
  context: HelperContext;
  scope: CallScope;
}

/** Runs a plugin's code on the main thread and makes the answer of what it returns. Throws a `GatewayError`. */
function runHere({ scope }: CallHere, work: () => unknown, options: RunHereOptions): Promise<Answer> {
  return guarded(scope, options, async () => answerOf(await work(), options));
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
): Promise<Answer | undefined> {
  return guarded(scope, options, async () => {
    if (!isShort(functions, input)) return undefined;
    const began = performance.now();
    try {
      return answerOf(await functions.handler(input, context), options);
    } finally {
      state.taskMs += performance.now() - began;
    }
  });
}

function answerOf(result: unknown, { maxJsonBytes, maxBodyBytes }: RunHereOptions): Answer {
  return makeAnswer(result, maxJsonBytes, maxBodyBytes);
}

/** A promise would be true, and have every call run here. */
function isShort({ inline }: ShortFunctions, input: Record<string, unknown>): boolean {
  const verdict = inline(input);
  if (typeof verdict === 'boolean') return verdict;
  throw new Error(`inline must return true or false, but it returned ${nameOf(verdict)}`);
}

/** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
async function guarded<T>(
  scope: CallScope,
  { timeoutMs, logger, shipped }: RunHereOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { service, request_id } = scope.ids;
  const tell = (error: unknown) => scope.redacted(readThrown(error));
  try {
    if (shipped) return await work();
    return await guard(
      {
        name: service,
        timeoutMs,
        isPaused: isInspected,
        onTime: () => scope.abort('deadline'),
        onLate: (error) =>
          logger.error({ err: tell(error), service, request_id }, 'helper failed after its answer'),
      },
      work,
    );
  } catch (error) {
    throw readHandlerError(tell(error), refusalIn(error));
  } finally {
    if (!shipped) {
      restoreObjectPrototype(service);
      scope.end();
    }
  }
}

/**
 * What makes a helper's calls unlike in cost, for the pool to tell them apart: the format that pictures are asked for in, of which one
 * may take thirty times as long as another. Only where it is one of a few that the schema lists, for the pool keeps a mean of each.
 */
export function variantOf({
  declaration: { input },
}: Helper): (input: Record<string, unknown>) => string | undefined {
  const { format } = asSchema(asSchema(input.properties));
  const { choice, enum: listed } = asSchema(format);
  if (choice === undefined && listed === undefined) return () => undefined;
  return function variantOf(given) {
    return typeof given.format === 'string' ? given.format : undefined;
  };
}

/** What is to be shown of an answer to one who cannot take every picture as it is. */
export interface PreviewRequest {
  /** Whether an answer is a picture that has to be made smaller, or another. */
  needsPreview(answer: BodyAnswer): boolean;
  /** Bytes of a preview at most. */
  maxBytes: number;
  /** Set where one was made. */
  preview?: BodyAnswer;
}

/**
 * The same last stage, which makes a preview of a picture too, in the call's own turn, where `shown` asks for one. It answers with
 * the whole all the same: that no preview could be made of it fails no call.
 */
export function withPreview<Needs extends AdmittedCall>(
  last: LastStage<Needs>,
): LastStage<Needs & { readonly shown?: PreviewRequest | undefined }> {
  return async function withPreview(call) {
    const answer = await last(call);
    const { shown } = call;
    return shown && answer.kind === 'bytes' && shown.needsPreview(answer)
      ? makePreview(call, shown, answer)
      : answer;
  };
}

async function makePreview(call: AdmittedCall, shown: PreviewRequest, answer: BodyAnswer): Promise<Answer> {
  const task = { kind: 'preview', bytes: answer.bytes, maxBytes: shown.maxBytes } as const;
  const outcome = await runTask(call, task).catch(() => undefined);
  if (outcome?.ok) shown.preview = outcome.value;
  return answer;
}
