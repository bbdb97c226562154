import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type ErrorCode, GatewayError } from '../errors.js';
import { envelopeType, failure, plainMeta, success } from './envelope.js';
import { serveRoundRobin } from './round-robin.js';
import {
  closeServer,
  createHttpServer,
  type HttpServerOptions,
  type Lifecycle,
  type ListenOptions,
  listen,
} from './server.js';

/** A server that can listen before its application exists: requests wait for it then. */
export interface Front {
  /** Listens, once; gives the url to reach it at. */
  listen(): Promise<string>;
  /** Hands over all requests, beginning with those that wait. */
  open(handle: RequestListener): void;
  /** Refuses those that still wait, listens no more and waits for the calls under way, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Requests that wait for the application; those past them are refused. Connections alone do not bound them: each may bring many. */
const mostWaiting = 10_000;

/** Answers what needs no application, before there is one; true where it did. */
type Probes = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createFront(
  lifecycle: Lifecycle,
  place: ListenOptions,
  { probes = () => false, ...options }: Partial<HttpServerOptions> & { probes?: Probes } = {},
): Front {
  const waiting = new Map<ServerResponse, IncomingMessage>();
  let listening: Promise<string> | undefined;
  let handle: RequestListener = wait;
  const server = createHttpServer(lifecycle, (request, response) => handle(request, response), {
    requestTimeout: 0,
    ...options,
  });

  function wait(request: IncomingMessage, response: ServerResponse): void {
    if (probes(request, response)) return;
    if (waiting.size === mostWaiting) {
      answerFailure(response, 'busy', starting);
      return;
    }
    waiting.set(response, request);
    response.once('close', () => waiting.delete(response));
  }

  function open(opened: RequestListener): void {
    handle = opened;
    // Not all at once: each costs some of this thread's time.
    const begin = serveRoundRobin(opened);
    for (const [response, request] of waiting) begin(request, response);
    waiting.clear();
  }

  return {
    listen() {
      listening ??= listen(server, place);
      return listening;
    },
    open,
    close(graceMs) {
      if (handle === wait) handle = (_, response) => answerFailure(response, 'shutting_down');
      for (const response of waiting.keys()) answerFailure(response, 'shutting_down');
      waiting.clear();
      return closeServer(server, graceMs);
    },
  };
}

const starting = 'The gateway is starting.';

/** `/healthz` and `/readyz` of a process that starts, as the application answers them later. */
export function answerProbes({ method, url = '' }: IncomingMessage, response: ServerResponse): boolean {
  const [path] = url.split('?', 1);
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (path === '/readyz') answerFailure(response, 'busy', starting);
  else if (path === '/healthz') {
    send(response, 200, (requestId) => success({ status: 'alive' }, plainMeta(requestId)));
  } else return false;
  return true;
}

function answerFailure(response: ServerResponse, code: ErrorCode, message?: string): void {
  const error = new GatewayError(code, message === undefined ? {} : { message });
  if (error.retryAfter !== undefined) response.setHeader('retry-after', error.retryAfter);
  if (code === 'shutting_down') response.setHeader('connection', 'close');
  send(response, error.status, (requestId) => failure(error, plainMeta(requestId)));
}

function send(response: ServerResponse, status: number, envelope: (requestId: string) => object): void {
  const requestId = randomUUID();
  const body = JSON.stringify(envelope(requestId));
  response
    .writeHead(status, {
      'content-type': envelopeType,
      'content-length': Buffer.byteLength(body),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-request-id': requestId,
    })
    .end(body);
}
