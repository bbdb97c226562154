import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasOneHost } from './host-header.js';
import type { Lifecycle } from './lifecycle.js';
import { createLinger } from './linger.js';
import { boundConnections } from './most-connections.js';
import { createFaultAnswer, refusal, refuseSocket } from './refusal.js';
import { originForm } from './request-target.js';
import { takeTurns } from './take-turns.js';
import { closeUnusedConnections } from './unused-connections.js';

export interface HttpServerOptions {
  /** Milliseconds for a whole request to arrive; 0 where bodies are bounded as they are read, and may wait for that. */
  requestTimeout: number;
}

/**
 * An HTTP server with bounds that suit short calls, and whose parser's refusals are JSON like every other answer.
 * Node's own bounds (a minute for headers, five for a request) let few clients hold many connections.
 */
export function createHttpServer(
  lifecycle: Lifecycle,
  listener: RequestListener,
  { requestTimeout }: HttpServerOptions = { requestTimeout: 0 },
): Server {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout,
    // Longer than the balancers in front, which keep idle connections for a minute: whoever closes first must be the one
    // that sends, or a request may cross with the close.
    keepAliveTimeout: 75_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024,
    // Judged below, because Node's own answer to a missing one is not JSON.
    requireHostHeader: false,
    ServerResponse: lifecycle.Response,
  });
  const linger = createLinger(server);
  const unused = closeUnusedConnections(server);
  const serve = takeTurns(listener);
  const closeWithSocket = createQueuedCloser();
  const answer = linger.wrap((request, response) => {
    unused.delete(request.socket);
    if (response.socket === null) closeWithSocket(response, request.socket);
    const target = originForm(request.url ?? '');
    if (target === undefined || !hasOneHost(request)) {
      const { status, headers, body } = refusal('bad_request');
      response.writeHead(status, headers).end(body);
      return;
    }
    request.url = target;
    serve(request, response);
  });
  server.on('request', answer);
  boundConnections(server, 10_000);
  // An Expect header that is not understood is no reason to answer without a body.
  server.on('checkExpectation', answer);
  // A client that waits with a body is told to go on when it is wanted (read-input), not before the key has been looked at.
  server.on('checkContinue', answer);
  // Node would hang up on whoever takes this for a proxy, without a word.
  server.on('connect', (_, socket: Socket) => refuseSocket(linger, socket, 'method_not_allowed'));
  server.on('clientError', createFaultAnswer(linger));
  return server;
}

/**
 * Closes the answers of pipelined requests together with their connection. Node does so only for the one that it is sending: the others
 * would never end, and what is counted until then would be counted for ever.
 */
function createQueuedCloser(): (response: ServerResponse, socket: Socket) => void {
  const queued = new WeakMap<Socket, Set<ServerResponse>>();

  function queueOf(socket: Socket): Set<ServerResponse> {
    const known = queued.get(socket);
    if (known) return known;
    const responses = new Set<ServerResponse>();
    queued.set(socket, responses);
    socket.once('close', () => {
      for (const response of responses) {
        if (response.socket !== null) continue;
        response.destroy();
        response.emit('close');
      }
    });
    return responses;
  }

  return function closeWithSocket(response, socket) {
    const responses = queueOf(socket).add(response);
    response.once('close', () => responses.delete(response));
  };
}
