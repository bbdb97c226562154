import type { Answer } from '../../../pool/answer.js';
import { version } from '../../helpers/version.js';
import type { HttpCall, LastStage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import { boundError, type ReadMessage } from '../message.js';
import type { HttpTools } from './http-tools.js';
import { withoutStream } from './without-stream.js';

/** Of a request's fields those that the protocol reads; the key is not among them. */
const fields = ['content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version'];

/** Loaded with the first message: it takes longer than the rest of the gateway's start, and most gateways have no agents. */
const loadProtocol = () => import('./protocol.js');

/**
 * What the protocol's server wants to be told before it answers. It is the client that has to say so; whoever says less, as curl
 * does, or nothing, is answered all the same.
 */
const accept = 'application/json, text/event-stream';

const encoder = new TextEncoder();

/** Has the protocol's own server answer a message, with the tools of its caller. */
export function answerMessage(tools: HttpTools): LastStage<HttpCall & { caller: Caller } & ReadMessage> {
  return async function answerMessage({ ctx, state, caller, message }): Promise<Answer> {
    const { serve } = await loadProtocol();
    const headers = fields.flatMap((name): [string, string][] => {
      const value = ctx.get(name);
      return value === '' ? [] : [[name, value]];
    });
    headers.push(['accept', accept]);
    const request = new Request('http://gateway/mcp', { method: 'POST', headers, signal: state.gone.signal });
    const served = await serve(request, message, { version, tools: tools.for({ ctx, state, caller }) });
    const response = /\btext\/event-stream\b/i.test(ctx.get('accept')) ? served : await withoutStream(served);
    ctx.status = response.status;
    // What the protocol refused; a tool's error has said itself what it was.
    if (response.status >= 400) {
      if (!state.gone.ended) state.code ??= 'bad_request';
      return refusal(await response.text());
    }
    const type = response.headers.get('content-type') ?? 'application/json';
    // Whole: no answer of ours goes on for longer than its call, and one that is counted is held to its pace.
    return { kind: 'bytes', bytes: new Uint8Array(await response.arrayBuffer()), type };
  };
}

/** What the SDK refused before its server saw it, and so without that one's bound. */
function refusal(text: string): Answer {
  const bytes = encoder.encode(text === '' ? text : JSON.stringify(boundError(JSON.parse(text))));
  return { kind: 'bytes', bytes, type: 'application/json' };
}
