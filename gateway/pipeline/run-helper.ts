import { type Answer, jsonAnswer } from '../../pool/answer.js';
import { HandlerContext } from '../../pool/context/handler-context.js';
import type { CallTask } from '../../pool/task.js';
import { after } from '../after.js';
import type { HelperContext } from '../helper.js';
import { runsOnMain } from '../helpers/main-helpers.js';
import type { Helper } from '../helpers/registry.js';
import { readHandlerError } from '../http/read-error.js';
import type { FetchForCall } from './call-fetch.js';
import type { SourceFound } from './fetch-source.js';
import { MainScope } from './main-scope.js';
import { type CallHere, mayBeShort, type RunOptions, runHere, runShort } from './run-here.js';
import { type AdmittedCall, runTask } from './run-task.js';
import type { LastStage } from './stage.js';
import type { Caller } from './state.js';
import { variantOf } from './variant.js';

/** A call with all that its handler needs. */
interface CompleteCall extends AdmittedCall, SourceFound {
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
export function runHelper(helper: Helper, forAll: RunOptions): LastStage<CompleteCall> {
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

  return function runHelper(call) {
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
    return after(runShort(functions, call, callHere(call), here), (answer) => answer ?? pooled());
  };

  function callHere(call: CompleteCall): CallHere {
    const ids = { service, request_id: call.state.requestId };
    const scope = new MainScope(call, ids, forAll, parts);
    return { scope, context: new HandlerContext(scope, parts) as HelperContext };
  }
}

async function runInPool(
  { id: service, url: plugin }: Helper,
  call: CompleteCall,
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
