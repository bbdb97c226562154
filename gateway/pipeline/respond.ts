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
  sendInChunks,
  unreadMessage,
  windowBytes,
} from '../http/outbound-budget.js';
import { isLoopbackAddress, isOwnHost } from '../http/request.js';
import type { PluginProblem } from '../plugins/discover.js';
import { exitHint, timeHint } from '../plugins/hints.js';
import type { CallContext, CallMiddleware, CallState } from './stage.js';

/** Adds to an error what its caller may know. */
export type ReportError = (error: GatewayError, request: IncomingMessage) => GatewayError;

/** The one place that answers calls: bytes, the JSON envelope, or the error's. Causes of errors go to the log alone. */
export function respond(outboundBudget: OutboundBudget, reportError: ReportError): CallMiddleware {
  return async function respond(ctx, next) {
    const { res } = ctx;
    // Helpers send what customers uploaded: no browser may render it as a page of this host.
    res.setHeader('x-content-type-options', 'nosniff');
    res.setHeader('content-security-policy', "default-src 'none'; sandbox");
    res.setHeader('cache-control', 'no-store');
    try {
      await next();
      const { result, stored, unchanged } = ctx.state;
      if (result === undefined) {
        if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
        const { body } = ctx;
        if (typeof body === 'string' || Buffer.isBuffer(body)) send(ctx, body);
      } else if (result.kind === 'bytes') {
        if (unchanged) ctx.status = 304;
        else ctx.type = result.type;
        setAnswerHeaders(ctx, result.headers);
        if (unchanged) setCallHeaders(ctx);
        else if (stored) await sendLater(ctx, stored, { opening: '', closing: '' });
        else send(ctx, asBuffer(result.bytes));
      } else if (stored) {
        res.setHeader('content-type', envelopeType);
        await sendLater(ctx, stored, successFrame(metaOf(ctx.state)));
      } else {
        const data = 'text' in result ? result.text : asBuffer(result.bytes);
        sendEnvelope(ctx, successText(data, metaOf(ctx.state)));
      }
    } catch (thrown) {
      const error = reportError(prepareErrorAnswer(ctx, thrown), ctx.req);
      ctx.status = error.status;
      if (error.status === 401 && !error.isPast) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      sendEnvelope(ctx, JSON.stringify(failure(error, metaOf(ctx.state))));
    }
  };

  function sendEnvelope(ctx: CallContext, body: Buffer | string): void {
    // Not by Koa's `type`, which looks it up.
    ctx.res.setHeader('content-type', envelopeType);
    send(ctx, body);
  }

  /** Sends stored bytes in their envelope: small ones as any other answer, others a window at a time. Reads nothing for HEAD. */
  async function sendLater(
    ctx: CallContext,
    stored: StoredBytes,
    { opening, closing }: { opening: string; closing: string },
  ): Promise<void> {
    const { res, state } = ctx;
    const { size } = stored;
    const tenant = tenantOf(state);
    ctx.status = 200;
    ctx.length = Buffer.byteLength(opening) + size + Buffer.byteLength(closing);
    if (ctx.method === 'HEAD') return setCallHeaders(ctx);
    const backlog = outboundBudget.backlog(tenant);
    if (backlog)
      throw new GatewayError(backlog === 'own' ? 'tenant_busy' : 'busy', { message: unreadMessage });
    const first = size === 0 ? Buffer.alloc(0) : await stored.read(0, Math.min(size, windowBytes));
    if (size <= chunkBytes) {
      return send(ctx, Buffer.concat([Buffer.from(opening), first, Buffer.from(closing)]));
    }
    setCallHeaders(ctx);
    const transfer = outboundBudget.track(res, tenant, first.length);
    if (!ctx.writable) return;
    ctx.respond = false;
    if (opening !== '') res.write(opening);
    sendInChunks(res, { stored, first, closing }, transfer).catch((error) => {
      prepareErrorAnswer(ctx, error);
      // The head is out: only a broken body can still show the failure.
      res.destroy();
    });
  }

  function send(ctx: CallContext, body: Buffer | string): void {
    const { state } = ctx;
    setCallHeaders(ctx);
    sendBody(ctx, body, { outboundBudget, requester: tenantOf(state), shared: state.sharedBody });
  }
}

const tenantOf = ({ caller }: CallState): string => caller?.tenant.id ?? anonymous;

function setCallHeaders({ res, state }: CallContext): void {
  // To the microsecond, as it is charged.
  if (state.helper) res.setHeader('x-cost-ms', String(Math.round(state.taskMs * 1000) / 1000));
  for (const name in state.headers) res.setHeader(name, state.headers[name] as string);
}

/** The helper's own headers replace the defaults. */
function setAnswerHeaders(ctx: CallContext, headers: AnswerHeaders = {}): void {
  for (const name in headers) {
    const value = headers[name] as string;
    // Added to what is there, such as the origin of the page.
    if (name === 'vary') ctx.vary(value);
    else ctx.res.setHeader(name, value);
  }
}

function metaOf({ helper, service, dryrun, requestId, cost }: CallState): Meta {
  return { service: helper?.id ?? service ?? null, dryrun, request_id: requestId, ...(cost && { cost }) };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export const reportPublicly: ReportError = (error) => error;

interface ReportOptions {
  problems?: () => readonly PluginProblem[];
  apiUrl?: string | undefined;
}

/**
 * Shows a helper's author what was thrown and where in a plugin, or why there is none at a path. Only in development,
 * and only to callers on the gateway's own host that use a name of its own and no proxy.
 */
export function createReportError(
  folders: readonly string[],
  { problems = () => [], apiUrl }: ReportOptions = {},
): ReportError {
  return (error, { headers, socket, url }) => {
    const { cause, code } = error;
    const isProxied = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined;
    if (isProxied || !isLoopbackAddress(socket.remoteAddress ?? '') || !isOwnHost(headers.host, apiUrl)) {
      return error;
    }
    if (code === 'not_found' && cause === undefined) {
      const path = url?.split('?')[0];
      const own = problems().find(({ file }) =>
        folders.some((folder) => file.replace(/(?:\/index)?\.(?:[cm]?js|m?ts)$/, '') === `${folder}${path}`),
      );
      if (!own) return error;
      const reason = own.reason.split('\n').join('; ');
      return new GatewayError(code, { message: `${own.file} cannot be served: ${reason}` });
    }
    if (cause === undefined) return error;
    if (code === 'helper_timeout') {
      return new GatewayError(code, { message: `${error.message}${timeHint(cause)}`, cause });
    }
    if (code !== 'internal') return error;
    // A handler's error was read in the thread where it ran.
    const thrown = cause instanceof Error ? readThrown(cause) : (cause as Thrown);
    const place = pluginFrame(thrown, folders);
    const message = `The helper failed: ${describeThrown(thrown)}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
    return new GatewayError(code, { message, cause });
  };
}

function describeThrown({ name, message, causes = [] }: Thrown): string {
  const own = name === undefined ? message : `${name}: ${message}`;
  return [own, ...causes.map(describeThrown)].join('; caused by ');
}

/** The plugin's first frame, without those of the gateway and of packages. */
function pluginFrame({ stack = '' }: Thrown, folders: readonly string[]): string | undefined {
  // Node resolves symbolic links in names of modules.
  const roots = folders.flatMap((folder) => (existsSync(folder) ? [folder, realpathSync(folder)] : [folder]));
  for (const line of stack.split('\n')) {
    const [, file, place] = /(file:\/\/[^)\s]+?):(\d+:\d+)\)?$/.exec(line) ?? [];
    const isPlugins = roots.some((folder) => file?.startsWith(`${pathToFileURL(folder).href}/`));
    if (file && isPlugins && !file.includes('/node_modules/')) return `${fileURLToPath(file)}:${place}`;
  }
  return undefined;
}
