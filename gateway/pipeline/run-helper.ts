import type { Logger } from 'pino';
import { type Answer, jsonAnswer, makeAnswer } from '../../pool/answer.js';
import { guard } from '../../pool/fault-guard.js';
import { readThrown } from '../../pool/thrown.js';
import type { HelperContext } from '../helper.js';
import type { Helper } from '../helpers/registry.js';
import { readHandlerError } from '../http/read-error.js';
import type { SourceFound } from './fetch-source.js';
import { type AdmittedCall, runTask } from './run-task.js';
import type { LastStage } from './stage.js';

export interface RunOptions {
  /** Milliseconds that a handler may take on the main thread. */
  timeoutMs: number;
  /** Bytes of JSON that it may answer with there. */
  maxJsonBytes: number;
  logger: Pick<Logger, 'error'>;
}

/** A call with all that its handler needs. */
interface CompleteCall extends AdmittedCall, SourceFound {
  input: Record<string, unknown>;
}

/** Calls the handler where the plugin says, or gives a dry run's answer. */
export function runHelper(helper: Helper, options: RunOptions): LastStage<CompleteCall> {
  const { id: service, declaration } = helper;
  const { dryrun: rehearse } = declaration;

  return async function runHelper(call) {
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
    return runInPool(helper, call, context);
  };
}

/** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
async function runHere(
  context: HelperContext,
  work: () => unknown,
  { timeoutMs, maxJsonBytes, logger }: RunOptions,
): Promise<Answer> {
  const { service, request_id } = context;
  const onLate = (error: unknown) =>
    logger.error({ err: readThrown(error), service, request_id }, 'helper failed after its answer');
  try {
    const result = await guard({ name: service, timeoutMs, onLate }, async () => work());
    return makeAnswer(result, maxJsonBytes);
  } catch (error) {
    throw readHandlerError(readThrown(error));
  }
}

async function runInPool(helper: Helper, call: CompleteCall, context: HelperContext): Promise<Answer> {
  const { input, source } = call;
  const task = { kind: 'call', plugin: helper.url, input, context: { ...context } } as const;
  const outcome = await runTask(call, source ? { ...task, source } : task);
  if (!outcome.ok) throw readHandlerError(outcome);
  return outcome.value;
}
