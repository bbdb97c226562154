import type { Logger } from 'pino';
import { type Answer, jsonAnswer, makeAnswer } from '../../pool/answer.js';
import { guard } from '../../pool/fault-guard.js';
import { readThrown, type Thrown } from '../../pool/thrown.js';
import type { FieldProblem } from '../../schemas/problem.js';
import { GatewayError } from '../errors.js';
import type { HelperContext, TextHelper } from '../helper.js';
import type { Helper } from '../registry.js';
import { runTask } from './run-task.js';
import type { CallState, Stage } from './state.js';

/** Codes that a handler may throw: the input or the picture is at fault, or native code stopped itself in time. */
const handlerCodes = [
  'invalid_input',
  'bad_image',
  'image_too_large',
  'helper_timeout',
  'result_too_large',
] as const;

export interface RunOptions {
  /** Milliseconds that a handler may take on the main thread. */
  timeoutMs: number;
  /** Bytes of JSON that it may answer with there. */
  maxJsonBytes: number;
  logger: Pick<Logger, 'error'>;
}

/** Calls the handler where the plugin says, or gives a dry run's answer. */
export function runHelper({ timeoutMs, maxJsonBytes, logger }: RunOptions): Stage {
  /** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
  async function runHere(context: HelperContext, work: () => unknown): Promise<Answer> {
    const { service, request_id } = context;
    const onLate = (error: unknown) =>
      logger.error({ err: readThrown(error), service, request_id }, 'helper failed after its answer');
    try {
      const result = await guard({ name: service, timeoutMs, onLate }, async () => work());
      return makeAnswer(result, maxJsonBytes);
    } catch (error) {
      throw handlerError(readThrown(error));
    }
  }

  return async function runHelper(ctx) {
    const { helper, input = {}, dryrun } = ctx.state;
    if (!helper) throw new GatewayError('not_found');
    const context: HelperContext = { service: helper.id, request_id: ctx.state.requestId };
    const { declaration } = helper;
    if (dryrun && declaration.dryrun === undefined) {
      ctx.state.result = jsonAnswer({
        operation: helper.id.slice(helper.id.lastIndexOf('/') + 1),
      });
    } else if (dryrun && typeof declaration.dryrun === 'function') {
      const { dryrun: rehearse } = declaration;
      ctx.state.result = await runHere(context, () => rehearse.call(declaration, input, context));
    } else if (declaration.runs === 'pool') {
      ctx.state.result = await runInPool(ctx.state, helper, input, context);
    } else {
      const { handler } = declaration as TextHelper<unknown>;
      ctx.state.result = await runHere(context, () => handler.call(declaration, input, context));
    }
  };
}

async function runInPool(
  state: CallState,
  helper: Helper,
  input: Record<string, unknown>,
  context: HelperContext,
): Promise<Answer> {
  const { source } = state;
  const task = { kind: 'call', plugin: helper.url, input, context: { ...context } } as const;
  const outcome = await runTask(state, source ? { ...task, source } : task);
  if (!outcome.ok) throw handlerError(outcome);
  return outcome.value;
}

/** Reads a handler's error by shape; anything but a fault of the input is the plugin's bug, told to the log alone. */
function handlerError(thrown: Thrown): GatewayError {
  const { code, message, details } = thrown;
  const known = handlerCodes.find((candidate) => candidate === code);
  if (!known) return new GatewayError('internal', { cause: thrown });
  if (known === 'helper_timeout') return new GatewayError(known, { cause: thrown });
  if (known === 'result_too_large') return new GatewayError('too_large', { message, cause: thrown });
  if (known !== 'invalid_input') return new GatewayError(known, { message, cause: thrown });
  return Array.isArray(details) && details.every(isProblem)
    ? new GatewayError(known, { details, cause: thrown })
    : new GatewayError('internal', { cause: thrown });
}

function isProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
