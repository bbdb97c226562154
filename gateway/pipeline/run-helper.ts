import { isAnyArrayBuffer } from 'node:util/types';
import type { Logger } from 'pino';
import { guard } from '../../pool/fault-guard.js';
import type { TaskOutcome } from '../../pool/task.js';
import { readThrown, type Thrown } from '../../pool/thrown.js';
import type { FieldProblem } from '../../schemas/problem.js';
import { GatewayError } from '../errors.js';
import type { HelperContext, HelperResult, TextHelper } from '../helper.js';
import type { Helper } from '../registry.js';
import type { CallState, Stage } from './state.js';

/** Codes that a handler may throw: the input or the picture is at fault, or native code stopped itself in time. */
const handlerCodes = ['invalid_input', 'bad_image', 'image_too_large', 'helper_timeout'] as const;

/** Calls the handler where the plugin says, or gives a dry run's answer. On the main thread it has `timeoutMs`. */
export function runHelper(timeoutMs: number, logger: Pick<Logger, 'error'>): Stage {
  /** What a plugin lets escape here would end the process for all, and what never settles would hold its call for ever. */
  async function runHere(context: HelperContext, work: () => unknown): Promise<HelperResult> {
    const { service, request_id } = context;
    const onLate = (error: unknown) =>
      logger.error({ err: readThrown(error), service, request_id }, 'helper failed after its answer');
    try {
      return checkResult(await guard({ name: service, timeoutMs, onLate }, async () => work()));
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
      ctx.state.result = { operation: helper.id.slice(helper.id.lastIndexOf('/') + 1) };
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
): Promise<HelperResult> {
  const { place, source } = state;
  if (!place) throw new GatewayError('internal', { cause: new Error('a pool helper was not admitted') });
  const task = { plugin: helper.url, input, context: { ...context }, ...(source ? { source } : {}) };
  const outcome: TaskOutcome = await place.run(task).catch((error) => {
    state.taskMs = (error as { ms?: number }).ms ?? 0;
    throw error;
  });
  state.taskMs = outcome.ms;
  if (!outcome.ok) throw handlerError(outcome);
  return checkResult(outcome.value);
}

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/;

/**
 * Holds a handler to what it may return. A Map, a Date, a stream or a bare Buffer would become JSON of a kind, and an empty
 * success is harder to find than a fault that the log names.
 */
function checkResult(value: unknown): HelperResult {
  const is = Object.prototype.toString.call(value).slice(8, -1);
  if (is !== 'Object') {
    throw new Error(`the handler must return an object or {body, type}, but returned ${is}`);
  }
  const { body, type } = value as { body?: unknown; type?: unknown };
  if (body instanceof Uint8Array) {
    if (typeof type !== 'string' || !mediaType.test(type)) {
      throw new Error(
        `the handler must name the media type of its body, such as image/png, but its type is ${type}`,
      );
    }
  } else if (ArrayBuffer.isView(body) || isAnyArrayBuffer(body)) {
    throw new Error('the handler must return its body as a Uint8Array (a Buffer is one)');
  }
  return value as HelperResult;
}

/** Reads a handler's error by shape; anything but a fault of the input is the plugin's bug, told to the log alone. */
function handlerError(thrown: Thrown): GatewayError {
  const { code, message, details } = thrown;
  const known = handlerCodes.find((candidate) => candidate === code);
  if (!known) return new GatewayError('internal', { cause: thrown });
  if (known === 'helper_timeout') return new GatewayError(known, { cause: thrown });
  if (known !== 'invalid_input') return new GatewayError(known, { message, cause: thrown });
  return Array.isArray(details) && details.every(isProblem)
    ? new GatewayError(known, { details, cause: thrown })
    : new GatewayError('internal', { cause: thrown });
}

function isProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
