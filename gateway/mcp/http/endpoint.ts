import type { Answer } from '../../../pool/answer.js';
import { after, type Now } from '../../after.js';
import { GatewayError } from '../../errors.js';
import { announcedBytes } from '../../http/body/text-body.js';
import type { Call, HttpCall, Stage } from '../../pipeline/stage.js';
import type { CallMiddleware } from '../../pipeline/state.js';
import { calledTool, type Message } from '../message.js';
import type { HttpTools } from './http-tools.js';

export const toolsPath = '/mcp';

/**
 * Has messages answered by these stages, and all other methods told that there is POST alone. There is no session that could be
 * listened to or ended.
 */
export function toolsEndpoint(answer: (call: HttpCall) => Now<Answer>): CallMiddleware {
  return function toolsEndpoint(ctx) {
    const { method, state } = ctx;
    if (method === 'OPTIONS') {
      ctx.set('allow', 'POST');
      ctx.status = 204;
      return;
    }
    if (method !== 'POST') {
      const message = `This path takes POST, not ${method}: agents send it their messages.`;
      throw new GatewayError('method_not_allowed', { message, headers: { allow: 'POST' } });
    }
    return after(answer({ ctx, state, bodyBytes: announcedBytes(ctx.req.headers) }), (result) => {
      state.result = result;
    });
  };
}

/**
 * Counts by this stage what calls no tool; a tool's call is counted by its helper's own. One that the protocol refuses before it
 * comes to a helper is counted when that is known: nothing that is asked is free.
 */
export function limitQuestions<Needs>(
  tools: Pick<HttpTools, 'has'>,
  limit: Stage<Needs, object>,
): Stage<Needs & Call & { message: Message }, object> {
  return function limitQuestions(call, next) {
    const tool = calledTool(call.message);
    if (tool === undefined || !tools.has(tool)) return limit(call, next);
    return after(next({}), (answer) => (call.state.helper ? answer : limit(call, () => answer)));
  };
}
