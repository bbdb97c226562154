import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type RawAnswer, rawFailure, rawSuccess } from './envelope.js';
import {
  closeServer,
  createHttpServer,
  type HttpServerOptions,
  type Lifecycle,
  type ListenOptions,
  listen,
  serveRoundRobin,
} from './server.js';

/** A server that can listen before its application exists: requests wait until then. */
export interface Front {
  /** Listens, once; resolves with the server's url. */
  listen(): Promise<string>;
  /** Hands over all requests, those that wait first. */
  open(handle: RequestListener): void;
  /** Refuses requests that still wait, stops listening and lets running calls finish, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
  /** Waits for the calls under way, at most `graceMs`, where no more connections come. */
  finish(graceMs: number): Promise<void>;
}

/** Bounds requests, because each connection may bring many. */
const mostWaiting = 10_000;

const starting = 'The gateway is starting.';

interface FrontOptions extends HttpServerOptions {
  /** Answers requests that need no application; true where it did. */
  probes?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export function createFront(lifecycle: Lifecycle, place: ListenOptions, options: FrontOptions = {}): Front {
  const waiting = new Map<ServerResponse, IncomingMessage>();
  let listening: Promise<string> | undefined;
  let handle: RequestListener = wait;
  const server = createHttpServer(lifecycle, (request, response) => handle(request, response), options);

  function wait(request: IncomingMessage, response: ServerResponse): void {
    if (options.probes?.(request, response)) return;
    if (waiting.size === mostWaiting) {
      send(response, rawFailure('busy', starting));
      return;
    }
    waiting.set(response, request);
    response.once('close', () => waiting.delete(response));
  }

  return {
    listen() {
      listening ??= listen(server, place);
      return listening;
    },
    open(opened) {
      handle = opened;
      const begin = serveRoundRobin(opened);
      for (const [response, request] of waiting) begin(request, response);
      waiting.clear();
    },
    close(graceMs) {
      if (handle === wait) handle = (_, response) => refuseAtEnd(response);
      for (const response of waiting.keys()) refuseAtEnd(response);
      waiting.clear();
      place.inlets?.close();
      return closeServer(server, graceMs);
    },
    finish: (graceMs) => closeServer(server, graceMs, { idle: false }),
  };
}

/** `/healthz` and `/readyz` of a process that starts, as the application answers them later. */
export function answerProbes({ method, url = '' }: IncomingMessage, response: ServerResponse): boolean {
  const [path] = url.split('?', 1);
  if ((method !== 'GET' && method !== 'HEAD') || (path !== '/readyz' && path !== '/healthz')) return false;
  send(response, path === '/readyz' ? rawFailure('busy', starting) : rawSuccess({ status: 'alive' }));
  return true;
}

function refuseAtEnd(response: ServerResponse): void {
  response.setHeader('connection', 'close');
  send(response, rawFailure('shutting_down'));
}

function send(response: ServerResponse, { status, headers, body }: RawAnswer): void {
  response.writeHead(status, headers).end(body);
}
