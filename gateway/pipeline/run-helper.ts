import { type Answer, jsonAnswer } from '../../pool/answer.js';
import { after } from '../after.js';
import type { HelperContext } from '../helper.js';
import type { Helper } from '../helpers/registry.js';
import { readHandlerError } from '../http/read-error.js';
import type { SourceFound } from './fetch-source.js';
import { mayBeShort, type RunOptions, runHere, runShort } from './run-here.js';
import { type AdmittedCall, runTask } from './run-task.js';
import type { LastStage } from './stage.js';

/** A call with all that its handler needs. */
interface CompleteCall extends AdmittedCall, SourceFound {
  input: Record<string, unknown>;
}

/** Calls the handler where the plugin says, or gives a dry run's answer. */
export function runHelper(helper: Helper, forAll: RunOptions): LastStage<CompleteCall> {
  const { id: service, declaration, shipped } = helper;
  const options = { ...forAll, shipped };
  const { dryrun: rehearse } = declaration;

  return function runHelper(call) {
    const { state, input } = call;
    const context: HelperContext = { service, request_id: state.requestId };
    if (state.dryrun && rehearse === undefined) {
      return jsonAnswer({ operation: service.slice(service.lastIndexOf('/') + 1) });
    }
    if (state.dryrun && typeof rehearse === 'function') {
      return runHere(context, () => rehearse.call(declaration, input, context), options);
    }
    if (declaration.runs === 'inline') {
      return runHere(context, () => declaration.handler(input, context), options);
    }
    if (!mayBeShort(declaration)) return runInPool(helper, call, context);
    return after(
      runShort(declaration, call, context, options),
      (answer) => answer ?? runInPool(helper, call, context),
    );
  };
}

async function runInPool(helper: Helper, call: CompleteCall, context: HelperContext): Promise<Answer> {
  const { input, source } = call;
  const task = { kind: 'call', plugin: helper.url, input, context: { ...context } } as const;
  const outcome = await runTask(call, source ? { ...task, source } : task);
  if (!outcome.ok) throw readHandlerError(outcome);
  return outcome.value;
}
