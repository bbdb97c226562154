import { existsSync, realpathSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { AnswerHeaders } from '../../pool/answer.js';
import { readThrown, type Thrown } from '../../pool/errors.js';
import { GatewayError } from '../errors.js';
import {
  envelopeType,
  failure,
  type Meta,
  prepareErrorAnswer,
  successFrame,
  successText,
} from '../http/envelope.js';
import {
  anonymous,
  chunkBytes,
  type OutboundBudget,
  type StoredBytes,
  sendBody,
  sendStored,
  unreadMessage,
  windowBytes,
} from '../http/outbound-budget.js';
import { isLoopbackAddress, isOwnHost } from '../http/request.js';
import type { PluginProblem } from '../plugins/discover.js';
import { exitHint, timeHint } from '../plugins/hints.js';
import type { CallContext, CallMiddleware, CallState } from './stage.js';

/** Says of an error more to those who may know it. */
export type ReportError = (error: GatewayError, request: IncomingMessage) => GatewayError;

/**
 * The one place where a call is answered: bytes, or the JSON envelope, or the error's. Whatever was thrown below
 * becomes one error of the table; what it was in truth goes to the log alone.
 */
export function respond(departures: OutboundBudget, tell: ReportError): CallMiddleware {
  return async function respond(ctx, next) {
    const { res } = ctx;
    // Helpers send what a customer uploaded: no browser may take it for a page of this host.
    res.setHeader('x-content-type-options', 'nosniff');
    res.setHeader('content-security-policy', "default-src 'none'; sandbox");
    res.setHeader('cache-control', 'no-store');
    try {
      await next();
      const { result } = ctx.state;
      if (result === undefined) {
        if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
        const { body } = ctx;
        if (typeof body === 'string' || Buffer.isBuffer(body)) send(ctx, body);
        return;
      }
      if (result.kind === 'bytes' && ctx.state.unchanged) sendUnchanged(ctx, result.headers);
      else if (result.kind === 'bytes') {
        ctx.type = result.type;
        setAnswerHeaders(ctx, result.headers);
        if (ctx.state.stored) await sendLater(ctx, ctx.state.stored, { opening: '', closing: '' });
        else send(ctx, asBuffer(result.bytes));
      } else if (ctx.state.stored) {
        ctx.res.setHeader('content-type', envelopeType);
        await sendLater(ctx, ctx.state.stored, successFrame(metaOf(ctx.state)));
      } else {
        const data = 'text' in result ? result.text : asBuffer(result.bytes);
        sendEnvelope(ctx, successText(data, metaOf(ctx.state)));
      }
    } catch (thrown) {
      const error = tell(prepareErrorAnswer(ctx, thrown), ctx.req);
      ctx.status = error.status;
      if (error.status === 401 && !error.isPast) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      sendEnvelope(ctx, JSON.stringify(failure(error, metaOf(ctx.state))));
    }
  };

  function sendEnvelope(ctx: CallContext, body: Buffer | string): void {
    // Not by Koa's `type`, which looks up what it is given.
    ctx.res.setHeader('content-type', envelopeType);
    send(ctx, body);
  }

  /** The client has the bytes: it is told what holds for them, and none of what they would be framed by. */
  function sendUnchanged(ctx: CallContext, headers: AnswerHeaders | undefined): void {
    ctx.status = 304;
    setAnswerHeaders(ctx, headers);
    setCallHeaders(ctx);
  }

  /** Sends what lies elsewhere, in a frame: what is small as any other answer, the rest a stretch at a time. Nothing of it is read for HEAD. */
  async function sendLater(
    ctx: CallContext,
    stored: StoredBytes,
    { opening, closing }: { opening: string; closing: string },
  ): Promise<void> {
    const { res, state } = ctx;
    const tenant = tenantOf(state);
    const length = Buffer.byteLength(opening) + stored.size + Buffer.byteLength(closing);
    if (ctx.method === 'HEAD') {
      setCallHeaders(ctx);
      ctx.status = 200;
      ctx.length = length;
      return;
    }
    const backlog = departures.backlog(tenant);
    if (backlog)
      throw new GatewayError(backlog === 'own' ? 'tenant_busy' : 'busy', { message: unreadMessage });
    const first =
      stored.size === 0 ? Buffer.alloc(0) : await stored.read(0, Math.min(stored.size, windowBytes));
    if (stored.size <= chunkBytes) {
      return send(ctx, Buffer.concat([Buffer.from(opening), first, Buffer.from(closing)]));
    }
    setCallHeaders(ctx);
    const departure = departures.track(res, tenant, first.length);
    ctx.status = 200;
    ctx.length = length;
    if (!ctx.writable) return;
    ctx.respond = false;
    if (opening !== '') res.write(opening);
    sendStored(res, { stored, first, closing }, departure).catch((error) => {
      prepareErrorAnswer(ctx, error);
      // The head is out: all that can still be said is that the body is not whole.
      res.destroy();
    });
  }

  function send(ctx: CallContext, body: Buffer | string): void {
    const { state } = ctx;
    setCallHeaders(ctx);
    sendBody(ctx, body, { departures, requester: tenantOf(state), shared: state.sharedBody });
  }
}

function tenantOf({ caller }: CallState): string {
  return caller?.tenant.id ?? anonymous;
}

function setCallHeaders({ res, state }: CallContext): void {
  for (const name in state.headers) res.setHeader(name, state.headers[name] as string);
}

/** What the helper says of its answer, in place of what stands there for all. */
function setAnswerHeaders(ctx: CallContext, headers: AnswerHeaders = {}): void {
  for (const name in headers) {
    const value = headers[name] as string;
    // Of what else the answer depends on, such as the page that asks, others have spoken.
    if (name === 'vary') ctx.vary(value);
    else ctx.res.setHeader(name, value);
  }
}

function metaOf({ helper, service, dryrun, requestId }: CallState): Meta {
  return { service: helper?.id ?? service ?? null, dryrun, request_id: requestId };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Says what everybody may know, and no more. */
export const reportPublicly: ReportError = (error) => error;

/**
 * Tells whoever writes a helper what a fault is: what was thrown, and where in a plugin below one of `folders`, or why there is none
 * at a path. Only for a gateway that is worked at, and only callers on its own host learn it, who ask for a name of its own; to others, also
 * behind a proxy there, it tells nothing.
 */
export function createReportError(
  folders: readonly string[],
  {
    problems = () => [],
    apiUrl,
  }: { problems?: () => readonly PluginProblem[]; apiUrl?: string | undefined } = {},
): ReportError {
  const isLocal = (request: IncomingMessage) =>
    isFromHere(request) && isOwnHost(request.headers.host, apiUrl);
  return (error, request) => {
    if (error.code === 'not_found' && error.cause === undefined && isLocal(request)) {
      return withProblem(error, request.url, folders, problems());
    }
    if (error.cause === undefined || !isLocal(request)) return error;
    if (error.code === 'helper_timeout') {
      const message = `${error.message}${timeHint(error.cause)}`;
      return new GatewayError('helper_timeout', { message, cause: error.cause });
    }
    if (error.code !== 'internal') return error;
    // What a handler has thrown was read where it ran.
    const thrown = error.cause instanceof Error ? readThrown(error.cause) : (error.cause as Thrown);
    const place = pluginFrame(thrown, folders);
    const message = `The helper failed: ${describeThrown(thrown)}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
    return new GatewayError('internal', { message, cause: error.cause });
  };
}

/** A path is served by nothing also where its plugin cannot be loaded, which whoever has just saved it wants to hear. */
function withProblem(
  error: GatewayError,
  url: string | undefined,
  folders: readonly string[],
  problems: readonly PluginProblem[],
): GatewayError {
  const path = url?.split('?')[0];
  const own = problems.find(({ file }) =>
    folders.some((folder) => file.replace(/(?:\/index)?\.(?:[cm]?js|m?ts)$/, '') === `${folder}${path}`),
  );
  if (own === undefined) return error;
  const reason = own.reason.split('\n').join('; ');
  return new GatewayError('not_found', { message: `${own.file} cannot be served: ${reason}` });
}

function isFromHere({
  headers,
  socket: { remoteAddress = '' },
}: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return isLoopbackAddress(remoteAddress);
}

function describeThrown({ name, message, causes = [] }: Thrown): string {
  const own = name === undefined ? message : `${name}: ${message}`;
  return [own, ...causes.map(describeThrown)].join('; caused by ');
}

/** The plugin's first frame: those of the gateway and of packages help nobody. */
function pluginFrame({ stack = '' }: Thrown, folders: readonly string[]): string | undefined {
  // Node names a module by where links lead to.
  const roots = folders.flatMap((folder) => (existsSync(folder) ? [folder, realpathSync(folder)] : [folder]));
  for (const line of stack.split('\n')) {
    const [, file, place] = /(file:\/\/[^)\s]+?):(\d+:\d+)\)?$/.exec(line) ?? [];
    const isPlugins = roots.some((folder) => file?.startsWith(`${pathToFileURL(folder).href}/`));
    if (file && isPlugins && !file.includes('/node_modules/')) return `${fileURLToPath(file)}:${place}`;
  }
  return undefined;
}
