import type { Answer } from '../../../pool/answer.js';
import { GatewayError } from '../../errors.js';
import { bodyTooLarge, createTextReader, requirePlain } from '../../http/body/text-body.js';
import type { Arrivals } from '../../http/flow/arrivals.js';
import { receive } from '../../pipeline/receive.js';
import type { HttpCall, Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import { envelopeBytes, type ReadMessage, readMessage } from '../message.js';
import { rpcError } from './rpc-error.js';

const json = 'application/json';
const wanted = { message: 'Send application/json, not compressed.' };

/** Reads the one message that a request brings, and answers what is none. */
export function readBody(
  arrivals: Arrivals,
  { maxTextBytes }: { maxTextBytes: number },
): Stage<HttpCall & { caller: Caller }, ReadMessage> {
  const maxBytes = maxTextBytes + envelopeBytes;
  const readText = createTextReader({ maxBytes, types: [json] });

  return async function readBody(call, next): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    requirePlain(ctx, wanted);
    if (bodyBytes > 0 && !ctx.is(json)) {
      throw new GatewayError('unsupported_media_type', wanted);
    }
    if (Number.isFinite(bodyBytes) && bodyBytes > maxBytes) throw bodyTooLarge(maxBytes);
    return receive(call, arrivals, {
      read: async (watch) => readMessage(bodyBytes > 0 ? await readText(ctx, watch) : new Uint8Array()),
      use: (read) => ('fault' in read ? rpcError(ctx, read.fault) : next(read)),
    });
  };
}
