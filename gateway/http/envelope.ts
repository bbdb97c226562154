import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import type { CallPrice } from '../../pool/costs.js';
import { type ErrorCode, GatewayError, toGatewayError } from '../errors.js';

export interface Meta {
  /** The helper's id; null where the path belongs to no helper. */
  service: string | null;
  dryrun: boolean;
  request_id: string;
  /** Of a dry run: what the call is likely to cost. */
  cost?: CallPrice;
}

export const envelopeType = 'application/json; charset=utf-8';

/** The meta of a request that is no helper's call. */
export function plainMeta(request_id: string): Meta {
  return { service: null, dryrun: false, request_id };
}

export function success(data: unknown, meta: Meta) {
  return { ok: true, data, meta } as const;
}

/** The envelope of a failed call; the error's cause stays inside. */
export function failure({ code, message, details }: GatewayError, meta: Meta) {
  return { ok: false, error: { code, message, ...(details && { details }) }, meta } as const;
}

/** Up to this length, joining strings is cheaper than copying into one buffer. */
const shortBytes = 8 * 1024;

/** The success envelope around data that is JSON text already, so that nothing is parsed to be written again. */
export function successText(data: Buffer | string, meta: Meta): Buffer | string {
  const { opening, closing } = successFrame(meta);
  if (data.length <= shortBytes) return opening + data.toString() + closing;
  return Buffer.concat([Buffer.from(opening), Buffer.from(data as Buffer), Buffer.from(closing)]);
}

export function successFrame(meta: Meta): { opening: string; closing: string } {
  return { opening: '{"ok":true,"data":', closing: `,"meta":${JSON.stringify(meta)}}` };
}

/** Makes what was thrown an error of the table, sets its headers and notes it for the log, but sends nothing. */
export function prepareErrorAnswer(
  ctx: Pick<Context, 'set'> & { state: { code?: string; fault?: unknown } },
  thrown: unknown,
): GatewayError {
  const error = toGatewayError(thrown);
  if (!error.isPast) ctx.state.code = error.code;
  if (error.isFault) ctx.state.fault = error.cause ?? error;
  ctx.set(error.headers);
  if (error.retryAfter !== undefined) ctx.set('retry-after', String(error.retryAfter));
  return error;
}

/** An answer to a request that never reaches Koa. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | number>;
  body: string;
}

export function rawSuccess(data: unknown): RawAnswer {
  return rawAnswer(200, (meta) => success(data, meta));
}

export function rawFailure(code: ErrorCode, message?: string): RawAnswer {
  const error = new GatewayError(code, message === undefined ? {} : { message });
  const answer = rawAnswer(error.status, (meta) => failure(error, meta));
  if (error.retryAfter !== undefined) answer.headers['retry-after'] = error.retryAfter;
  return answer;
}

function rawAnswer(status: number, envelope: (meta: Meta) => object): RawAnswer {
  const requestId = randomUUID();
  const body = JSON.stringify(envelope(plainMeta(requestId)));
  const headers = {
    'content-type': envelopeType,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-request-id': requestId,
  };
  return { status, headers, body };
}
