import type { Answer } from '../../../pool/answer.js';
import { version } from '../../helpers/version.js';
import type { HttpCall, LastStage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import type { HttpTools } from './http-tools.js';
import type { Message } from './message.js';

/** Of a request's fields those that the protocol reads; the key is not among them. */
const fields = ['accept', 'content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version'];

/** Loaded with the first message: it takes longer than the rest of the gateway's start, and most gateways have no agents. */
const loadProtocol = () => import('./protocol.js');

/** Has the protocol's own server answer a message, with the tools of its caller. */
export function answerMessage(tools: HttpTools): LastStage<HttpCall & { caller: Caller; message: Message }> {
  return async function answerMessage({ ctx, state, caller, message }): Promise<Answer> {
    const { serve } = await loadProtocol();
    const headers = fields.flatMap((name): [string, string][] => {
      const value = ctx.get(name);
      return value === '' ? [] : [[name, value]];
    });
    const request = new Request('http://gateway/mcp', { method: 'POST', headers, signal: state.gone.signal });
    const response = await serve(request, message, { version, tools: tools.for({ ctx, state, caller }) });
    ctx.status = response.status;
    // What the protocol refused; a tool's error has said itself what it was.
    if (response.status >= 400 && !state.gone.ended) state.code ??= 'bad_request';
    const type = response.headers.get('content-type') ?? 'application/json';
    // Whole: no answer of ours goes on for longer than its call, and one that is counted is held to its pace.
    return { kind: 'bytes', bytes: new Uint8Array(await response.arrayBuffer()), type };
  };
}
