import { type Answer, jsonAnswer, toBytes } from '../../../pool/answer.js';
import type { CallContext } from '../../pipeline/state.js';
import type { MessageFault } from '../message.js';

/** Answers what is no message as the protocol does. */
export function rpcError(ctx: CallContext, { id, ...error }: MessageFault): Answer {
  ctx.status = 400;
  ctx.state.code = 'bad_request';
  const { bytes } = toBytes(jsonAnswer({ jsonrpc: '2.0', id, error }));
  return { kind: 'bytes', bytes, type: 'application/json' };
}
