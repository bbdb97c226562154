import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Lifecycle } from './lifecycle.js';
import { createLinger } from './linger.js';
import { createFaultAnswer, refusal, refuse } from './refuse.js';
import { originForm } from './request-target.js';
import { takeTurns } from './take-turns.js';

/**
 * An HTTP server with bounds that suit short calls, and whose parser's refusals are JSON like every other answer.
 * Node's own bounds (a minute for headers, five for a request) let few clients hold many connections.
 */
export function createHttpServer(lifecycle: Lifecycle, listener: RequestListener): Server {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    // Longer than the balancers in front, which keep idle connections for a minute: whoever closes first must be the one
    // that sends, or a request may cross with the close.
    keepAliveTimeout: 75_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024,
    // Judged below, because Node's own answer to a missing one is not JSON.
    requireHostHeader: false,
  });
  const linger = createLinger(server);
  const unused = closeUnusedConnections(server);
  const serve = takeTurns(listener);
  const answer = linger.wrap((request, response) => {
    unused.delete(request.socket);
    lifecycle.watch(response);
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
  server.maxConnections = 10_000;
  // A client that takes nothing of its answer for two minutes is gone.
  server.setTimeout(120_000);
  // An Expect header that is not understood is no reason to answer without a body.
  server.on('checkExpectation', answer);
  // Who waits with a body is told to go on when it is wanted (read-input), not before the key has been looked at.
  server.on('checkContinue', answer);
  // Node would hang up on whoever takes this for a proxy, without a word.
  server.on('connect', (_, socket: Socket) => refuse(linger, socket, 'method_not_allowed'));
  server.on('clientError', createFaultAnswer(linger));
  return server;
}

/**
 * Makes idle connections include those on which nothing was ever asked, which Node counts as busy: a browser opens one
 * in advance, and it would hold up a shutdown to the end of its grace. Gives the set that a request takes its socket from.
 */
function closeUnusedConnections(server: Server): Set<Socket> {
  const unused = new Set<Socket>();
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = function closeIdleConnections() {
    closeIdle();
    for (const socket of unused) socket.destroy();
  };
  return unused;
}

/** HTTP/1.1 wants exactly one Host header; two are how a proxy and a server are led to disagree (RFC 9112, 3.2). */
function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'something listens there already. Choose another port.',
  EADDRNOTAVAIL: 'this machine has no such address.',
  EACCES: 'this user may not open this port; take one from 1024 up.',
  ENOTFOUND: 'this host name is not known.',
};

/** Listens, and gives the url to reach the server at; the promise fails where the address is taken or not allowed. */
export function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new Error(`Cannot listen on ${host}:${port}: ${listenFaults[error.code ?? ''] ?? error.message}`),
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

/** Stops listening and waits for the calls under way; idle connections are closed at once, all after `graceMs`. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
