import { isIP } from 'node:net';
import { type Answer, jsonAnswer, toBytes } from '../../pool/answer.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError } from '../errors.js';
import { announcedBytes, bodyTooLarge, createTextReader, requirePlain } from '../http/body.js';
import { prepareErrorAnswer } from '../http/envelope.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import { withoutBrackets } from '../http/request.js';
import { scopeAllows } from '../keys/model.js';
import type { GivenCall } from '../pipeline/pipelines.js';
import { noUploads, receive } from '../pipeline/read-input.js';
import type { ReportError } from '../pipeline/respond.js';
import type { Call, Caller, CallMiddleware, HttpCall, LastStage, Stage } from '../pipeline/stage.js';
import { version } from '../plugins/paths.js';
import type { Helper } from '../plugins/registry.js';
import type { TenantHelpers } from '../recipes/tenant-helpers.js';
import { boundError, calledTool, envelopeBytes, type ReadMessage, readMessage } from './message.js';
import { errorResult, type FullResult, previewRules, toolResult } from './tool-result.js';
import type { Toolbox } from './tool-server.js';
import { type HelperTool, toolsOf } from './tools.js';

export const toolsPath = '/mcp';

/** Answers messages by these stages, and refuses methods other than POST: there is no session to listen to or to end. */
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
 * Counts requests that call no tool; a tool's call is counted by its helper's own stage. One that is refused before it reaches a
 * helper is counted afterwards: no request is free.
 */
export function limitProtocolCalls<Needs>(
  limit: Stage<Needs, object>,
): Stage<Needs & Call & ReadMessage, object> {
  return async function limitProtocolCalls(call, next) {
    if (calledTool(call.message) === undefined) return limit(call, next);
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
  if (name === undefined || (isIP(withoutBrackets(name)) === 0 && !names.includes(name))) {
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

const jsonType = 'application/json';
const unsupportedType = { message: 'Send application/json, not compressed.' };

/** Reads the one message of a request, and answers an invalid one. */
export function readBody(
  inboundBudget: InboundBudget,
  { maxTextBytes }: { maxTextBytes: number },
): Stage<Requester, ReadMessage> {
  const maxBytes = maxTextBytes + envelopeBytes;
  const readText = createTextReader(maxBytes);

  return async function readBody(call, next): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    requirePlain(ctx, unsupportedType);
    if (bodyBytes > 0 && !ctx.is(jsonType)) {
      throw new GatewayError('unsupported_media_type', unsupportedType);
    }
    if (Number.isFinite(bodyBytes) && bodyBytes > maxBytes) throw bodyTooLarge(maxBytes);
    return receive(call, inboundBudget, {
      read: async (watch) => readMessage(bodyBytes > 0 ? await readText(ctx, watch) : new Uint8Array()),
      use: async (read) => {
        if (!('fault' in read)) return next(read);
        const { id, ...error } = read.fault;
        ctx.status = 400;
        ctx.state.code = 'bad_request';
        const { bytes } = toBytes(jsonAnswer({ jsonrpc: '2.0', id, error }));
        return { kind: 'bytes', bytes, type: jsonType };
      },
    });
  };
}

/** Headers that the protocol reads; the key is not among them. */
const forwardedHeaders = ['content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version'];

/** The SDK's server refuses clients that accept less, such as curl, so this is always set. */
const accept = 'application/json, text/event-stream';

/** Has the protocol's own server answer a message, with the tools of its caller. */
export function answerMessage(
  toolsFor: ReturnType<typeof createHttpTools>,
): LastStage<Requester & ReadMessage> {
  return async function answerMessage({ message, ...requester }): Promise<Answer> {
    const { ctx, state } = requester;
    // Loaded with the first message: it would double the time of a start, and most gateways have no agents.
    const { serve } = await import('./tool-server.js');
    const headers = forwardedHeaders.flatMap((name): [string, string][] => {
      const value = ctx.get(name);
      return value === '' ? [] : [[name, value]];
    });
    headers.push(['accept', accept]);
    const request = new Request('http://gateway/mcp', { method: 'POST', headers, signal: state.signal });
    const served = await serve(request, message, { version, tools: toolsFor(requester) });
    const response = /\btext\/event-stream\b/i.test(ctx.get('accept'))
      ? served
      : await unwrapEventStream(served);
    ctx.status = response.status;
    // Refused by the protocol; a tool's own error has set its code already.
    if (response.status >= 400) {
      if (!state.signal.aborted) state.code ??= 'bad_request';
      const text = await response.text();
      // Of the SDK itself, which our server has not bounded.
      const bytes = Buffer.from(text === '' ? text : JSON.stringify(boundError(JSON.parse(text))));
      return { kind: 'bytes', bytes, type: jsonType };
    }
    const type = response.headers.get('content-type') ?? jsonType;
    // Whole, so that it is bounded by its call's time and by the outbound budget.
    return { kind: 'bytes', bytes: new Uint8Array(await response.arrayBuffer()), type };
  };
}

/** The last message of a stream of events as a JSON document, for a client that reads no streams. */
async function unwrapEventStream(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  // Not `.`, which would end at a U+2028 in the JSON.
  const data = [...(await response.text()).matchAll(/^data: ?(\S[^\r\n]*)/gm)].at(-1)?.[1];
  return new Response(data, { status: response.status, headers: { 'content-type': jsonType } });
}

/** Who asks for tools, and by which request. */
type Requester = HttpCall & { caller: Caller };

interface HttpToolsOptions {
  /** The gateway's address as customers see it. */
  apiUrl: string | undefined;
  /** Gives the error that the caller may see. */
  reportError: ReportError;
}

/** The helpers as the tools of each requester, with each helper's own stages behind it. */
export function createHttpTools(
  helpers: TenantHelpers,
  stagesOf: (helper: Helper) => (call: GivenCall) => Promise<Answer>,
  { apiUrl, reportError }: HttpToolsOptions,
): (requester: Requester) => Toolbox {
  let made: ReadonlyMap<string, HelperTool> | undefined;

  /** Those of all callers are made when an agent first asks: most gateways have none. */
  async function toolsFor({ tenant }: Caller): Promise<ReadonlyMap<string, HelperTool>> {
    made ??= toolsOf(helpers.registry);
    const own = await helpers.own(tenant.id);
    return own.size === 0 ? made : new Map([...toolsOf(own), ...made]);
  }

  async function call({ helper }: HelperTool, input: string, { ctx, state, caller }: Requester) {
    state.helper = helper;
    const run = stagesOf(helper);
    const shown = previewRules();
    const text = { kind: 'json', bytes: new TextEncoder().encode(input) } as const;
    const query = { values: new Map(), problems: [] };
    try {
      const answer = await run({ state, caller, bodyBytes: 0, query, text, uploads: noUploads, shown });
      const base = apiUrl ?? `http://${ctx.get('host')}`;
      // A link is a GET, which a helper with effects refuses.
      const whole = () => linkTo(helper.declaration.effects ? undefined : callUrl(base, helper.id, input));
      return await toolResult({ answer, helper, whole, preview: shown.preview, cost: state.cost });
    } catch (thrown) {
      const error = reportError(prepareErrorAnswer(ctx, thrown), ctx.req);
      // The HTTP answer succeeds; the error is the tool's result.
      state.cameTo = error.status;
      return errorResult(error, state.requestId);
    }
  }

  return (requester) => ({
    list: async () =>
      [...(await toolsFor(requester.caller)).values()]
        .filter(({ helper }) => scopeAllows(requester.caller.scopes, helper.id))
        .map(({ definition }) => definition),
    async call(name, input) {
      const tool = (await toolsFor(requester.caller)).get(name);
      if (tool) return call(tool, input, requester);
      requester.state.code = 'not_found';
      return undefined;
    },
  });
}

function linkTo(uri: string | undefined): FullResult {
  if (uri === undefined) return { words: 'The whole is to be had by the same call over HTTP, as a POST.' };
  return {
    uri,
    words: `The whole is at ${uri} and asks for an API key, which the user adds as the parameter ak or in the header Authorization: Bearer.`,
  };
}

/** Characters of a url that every client and proxy accepts. */
const longestUrl = 8000;

/**
 * The address at which a GET gives the same answer as a tool's call with this JSON, without the key; undefined where the call does
 * not fit into one. Lists and objects are written as JSON, which a query may hold.
 */
function callUrl(base: string, service: string, input: string): string | undefined {
  // Of each character JSON may make six, as `\u0061`.
  if (input.length > longestUrl * 6) return undefined;
  const url = new URL(`/${service}`, base);
  for (const [name, value] of Object.entries(JSON.parse(input) as object)) {
    url.searchParams.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return url.href.length <= longestUrl ? url.href : undefined;
}
