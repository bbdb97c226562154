import { isIP } from 'node:net';
import { type Answer, jsonAnswer, toBytes } from '../../pool/answer.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError } from '../errors.js';
import { announcedBytes, bodyTooLarge, createTextReader, requirePlain } from '../http/body.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import { withoutBrackets } from '../http/request.js';
import { receive } from '../pipeline/read-input.js';
import type {
  Call,
  CallContext,
  Caller,
  CallMiddleware,
  HttpCall,
  LastStage,
  Stage,
} from '../pipeline/stage.js';
import { version } from '../plugins/paths.js';
import type { HttpTools } from './http-tools.js';
import {
  boundError,
  calledTool,
  envelopeBytes,
  type Message,
  type MessageFault,
  type ReadMessage,
  readMessage,
} from './message.js';

export const toolsPath = '/mcp';

/**
 * Answers messages by these stages, and refuses methods other than POST: there is no session to listen to or to end.
 */
export function toolsEndpoint(answer: (call: HttpCall) => Promise<Answer>): CallMiddleware {
  return async function toolsEndpoint(ctx) {
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
    state.result = await answer({ ctx, state, bodyBytes: announcedBytes(ctx.req.headers) });
  };
}

/**
 * Counts requests that call no tool; a tool's call is counted by its helper's own stage. One that the protocol refuses before it
 * reaches a helper is counted afterwards: no request is free.
 */
export function limitProtocolCalls<Needs>(
  tools: Pick<HttpTools, 'has'>,
  limit: Stage<Needs, object>,
): Stage<Needs & Call & { message: Message }, object> {
  return async function limitProtocolCalls(call, next) {
    const tool = calledTool(call.message);
    if (tool === undefined || !tools.has(tool)) return limit(call, next);
    const answer = await next({});
    return call.state.helper ? answer : limit(call, async () => answer);
  };
}

/** Refuses a foreign Host or Origin, before anything is read. */
export function knownHost(known: KnownAs): Stage<HttpCall, object> {
  return function knownHost({ ctx }, next) {
    const message = hostProblem({ host: ctx.get('host'), origin: ctx.get('origin') }, known);
    if (message !== undefined) throw new GatewayError('forbidden', { message });
    return next({});
  };
}

/** What a gateway is known by. */
export interface KnownAs {
  /** Where it listens: a name or an address. */
  host: string;
  /** Its address as customers see it. */
  apiUrl?: string | undefined;
  /** Origins whose pages may call it, or `*`. */
  corsOrigins: readonly string[];
}

/**
 * Why a request to agents' tools is refused by its Host and Origin; undefined where it is not. A page of another site may have
 * its own name resolve to this machine (DNS rebinding) and then calls what listens here as its own: the name in Host gives it
 * away. An address is no name, and cannot be rebound.
 */
export function hostProblem(
  { host, origin }: { host: string; origin: string },
  { host: listening, apiUrl, corsOrigins }: KnownAs,
): string | undefined {
  const names = ['localhost', listening.toLowerCase(), ...(apiUrl ? [new URL(apiUrl).hostname] : [])];
  const name = hostName(host);
  if (name === undefined || !(isAddress(name) || names.includes(name))) {
    return `The Host ${quote(host)} is not one that this gateway is known by. Whoever runs it names its public address in HELPER_API_URL.`;
  }
  if (origin === '' || corsOrigins.includes('*') || corsOrigins.includes(origin)) return undefined;
  const own = [`http://${host}`, `https://${host}`, ...(apiUrl ? [new URL(apiUrl).origin] : [])];
  if (own.includes(origin.toLowerCase())) return undefined;
  return `Pages of ${quote(origin)} may not call this gateway. Whoever runs it names those that may in HELPER_CORS_ORIGINS.`;
}

function hostName(host: string): string | undefined {
  try {
    const url = new URL(`http://${host}`);
    // Anything but a name and a port would make another url of it.
    return url.pathname === '/' && url.username === '' && !/[/?#@]/.test(host) ? url.hostname : undefined;
  } catch {
    return undefined;
  }
}

function isAddress(name: string): boolean {
  return isIP(withoutBrackets(name)) !== 0;
}

const jsonType = 'application/json';
const unsupportedType = { message: 'Send application/json, not compressed.' };

/** Reads the one message of a request, and answers an invalid one. */
export function readBody(
  inboundBudget: InboundBudget,
  { maxTextBytes }: { maxTextBytes: number },
): Stage<HttpCall & { caller: Caller }, ReadMessage> {
  const maxBytes = maxTextBytes + envelopeBytes;
  const readText = createTextReader({ maxBytes, types: [jsonType] });

  return async function readBody(call, next): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    requirePlain(ctx, unsupportedType);
    if (bodyBytes > 0 && !ctx.is(jsonType)) {
      throw new GatewayError('unsupported_media_type', unsupportedType);
    }
    if (Number.isFinite(bodyBytes) && bodyBytes > maxBytes) throw bodyTooLarge(maxBytes);
    return receive(call, inboundBudget, {
      read: async (watch) => readMessage(bodyBytes > 0 ? await readText(ctx, watch) : new Uint8Array()),
      use: (read) => ('fault' in read ? rpcError(ctx, read.fault) : next(read)),
    });
  };
}

/** The protocol's answer to an invalid message. */
function rpcError(ctx: CallContext, { id, ...error }: MessageFault): Answer {
  ctx.status = 400;
  ctx.state.code = 'bad_request';
  const { bytes } = toBytes(jsonAnswer({ jsonrpc: '2.0', id, error }));
  return { kind: 'bytes', bytes, type: 'application/json' };
}

/** Headers that the protocol reads; the key is not among them. */
const forwardedHeaders = ['content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version'];

/** The SDK's server refuses clients that accept less, such as curl, so this is always set. */
const accept = 'application/json, text/event-stream';

const encoder = new TextEncoder();

/** Has the protocol's own server answer a message, with the tools of its caller. */
export function answerMessage(tools: HttpTools): LastStage<HttpCall & { caller: Caller } & ReadMessage> {
  return async function answerMessage({ ctx, state, caller, message }): Promise<Answer> {
    // Loaded with the first message: it would double the time of a start, and most gateways have no agents.
    const { serve } = await import('./tool-server.js');
    const headers = forwardedHeaders.flatMap((name): [string, string][] => {
      const value = ctx.get(name);
      return value === '' ? [] : [[name, value]];
    });
    headers.push(['accept', accept]);
    const request = new Request('http://gateway/mcp', { method: 'POST', headers, signal: state.signal });
    const served = await serve(request, message, { version, tools: tools.for({ ctx, state, caller }) });
    const response = /\btext\/event-stream\b/i.test(ctx.get('accept'))
      ? served
      : await unwrapEventStream(served);
    ctx.status = response.status;
    // Refused by the protocol; a tool's own error has set its code already.
    if (response.status >= 400) {
      if (!state.signal.aborted) state.code ??= 'bad_request';
      return refusal(await response.text());
    }
    const type = response.headers.get('content-type') ?? 'application/json';
    // Whole, so that it is bounded by its call's time and by the outbound budget.
    return { kind: 'bytes', bytes: new Uint8Array(await response.arrayBuffer()), type };
  };
}

/** A refusal of the SDK itself, which our server has not bounded. */
function refusal(text: string): Answer {
  const bytes = encoder.encode(text === '' ? text : JSON.stringify(boundError(JSON.parse(text))));
  return { kind: 'bytes', bytes, type: 'application/json' };
}

/** The last message of a stream of events as a JSON document, for a client that reads no streams. */
async function unwrapEventStream(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  // Not `.`, which would end at a U+2028 in the JSON.
  const data = [...(await response.text()).matchAll(/^data: ?(\S[^\r\n]*)/gm)].at(-1)?.[1];
  return new Response(data, { status: response.status, headers: { 'content-type': 'application/json' } });
}
