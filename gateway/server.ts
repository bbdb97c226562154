import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { failure } from './envelope.js';
import { type ErrorCode, GatewayError } from './errors.js';

/** Parser faults that have a code of their own; every other is `bad_request`. */
const parserFaults: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * An HTTP server with bounds that suit short calls, and whose parser's refusals are JSON like every other answer.
 * Node's own bounds (a minute for headers, five for a request) let few clients hold many connections.
 */
export function createHttpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 10_000,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 16 * 1024,
    },
    listener,
  );
  server.maxConnections = 10_000;
  // A client that takes nothing of its answer for two minutes is gone.
  server.setTimeout(120_000);
  // An Expect header that is not understood is no reason to answer without a body.
  server.on('checkExpectation', listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else socket.end(rawAnswer(parserFaults[error.code ?? ''] ?? 'bad_request'));
  });
  return server;
}

function rawAnswer(code: ErrorCode): string {
  const error = new GatewayError(code);
  const requestId = randomUUID();
  const body = JSON.stringify(failure(error, { service: null, dryrun: false, request_id: requestId }));
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
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
