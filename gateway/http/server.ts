import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type ErrorCode, GatewayError } from '../errors.js';
import { envelopeType, failure, plainMeta } from './envelope.js';
import { type Call, createLinger, type Linger } from './linger.js';
import { hasOneHost, originForm } from './request.js';
import { createRoundRobin, serveRoundRobin } from './round-robin.js';

/** `draining`: all is served, but not for long; `closing`: only what is under way is finished. */
export type Phase = 'open' | 'draining' | 'closing';

/** Where the gateway stands between its start and its end, for all of its servers. */
export interface Lifecycle {
  phase(): Phase;
  enter(phase: Exclude<Phase, 'open'>): void;
  /** For servers to answer with: ends its connection where the gateway is no longer open when its head is sent. */
  readonly Response: typeof ServerResponse;
}

/**
 * A balancer must hear of the end before a connection is closed under a request that it has just sent on it: `Connection:
 * close` tells it with an answer, `/readyz` with its next health check.
 */
export function createLifecycle(): Lifecycle {
  let phase: Phase = 'open';

  class Response<R extends IncomingMessage> extends ServerResponse<R> {
    /** Node calls it for every answer, in the moment in which its head is made. */
    override writeHead(
      status: number,
      reason?: string | OutgoingHttpHeaders | unknown[],
      headers?: OutgoingHttpHeaders | unknown[],
    ): this {
      if (phase !== 'open') this.setHeader('connection', 'close');
      return super.writeHead(status, reason as string, headers as OutgoingHttpHeaders);
    }
  }

  return {
    phase: () => phase,
    enter(next) {
      phase = next;
    },
    Response,
  };
}

export interface ListenOptions {
  host: string;
  port: number;
  /** The variable that the port is set by, for whoever has to choose another. */
  variable: string;
}

/** Listens, and gives the url to reach the server at; the promise fails where the address is taken or not allowed. */
export function listen(server: Server, { host, port, variable }: ListenOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = reasonOf(error, variable);
      reject(new Error(`Cannot listen on ${host}:${port}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException, variable: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `something listens there already. Choose another port with ${variable}.`;
    case 'EACCES':
      return `this user may not open this port; take one from 1024 up with ${variable}.`;
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address.';
    case 'ENOTFOUND':
      return 'this host name is not known.';
    default:
      return message;
  }
}

/** Stops listening and waits for the calls under way; idle connections are closed at once, all after `graceMs`. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
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

/**
 * Closes connections beyond so many at once. Node's own `maxConnections` would do, but for a process that is handed its connections by
 * another one: it hands a refused one back, and where all are full it goes round without end.
 */
function boundConnections(server: Server, most: number): void {
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open > most) socket.destroy();
  });
}

/** What a request is answered that never gets to the pipeline; the connection ends with it. */
function refusal(code: ErrorCode, message?: string) {
  const error = new GatewayError(code, message === undefined ? {} : { message });
  const requestId = randomUUID();
  const body = JSON.stringify(failure(error, plainMeta(requestId)));
  const headers = {
    'content-type': envelopeType,
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    ...(code === 'method_not_allowed' ? { allow: 'GET, HEAD, POST, OPTIONS' } : {}),
    connection: 'close',
  };
  return { status: error.status, headers, body };
}

/** Parser faults that have a code of their own; every other is `bad_request`. */
const parserFaults: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** What is commonest in an address typed by hand is worth more than the table's text. */
const parserHints: Record<string, string> = {
  HPE_INVALID_URL:
    'The address in the request line cannot be read: percent-encode all in it that is not plain ASCII (curl does with --get --data-urlencode).',
};

/** Answers where there is no response object to answer with, and hangs up. */
function refuseSocket(linger: Linger, socket: Socket, code: ErrorCode, message?: string): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = refusal(code, message);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  // A socket that Node has handed over has no listener for errors left, and an error without one ends the process.
  socket.on('error', () => socket.destroy());
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  linger.end(socket);
}

/**
 * Answers a fault of Node's parser on a connection, once: Node tells of it again with all that comes after. A call whose
 * answer is on its way or due is answered before it, and by nothing else: two answers to one request would give the second
 * to whoever asks next through the same proxy.
 */
export function createFaultAnswer(linger: Linger): (error: NodeJS.ErrnoException, socket: Socket) => void {
  const faulty = new WeakSet<Socket>();
  const inTurn = createRoundRobin();

  function answer(error: NodeJS.ErrnoException, socket: Socket): void {
    const call = linger.lastCall(socket);
    const answered = call?.response.writableFinished ?? true;
    const whole = call?.request.complete ?? true;
    if (!answered && (whole || call?.response.headersSent)) {
      call?.response.once('close', () => answer(error, socket));
    } else if (answered && !whole) {
      linger.end(socket);
    } else {
      const code = error.code ?? '';
      refuseSocket(linger, socket, parserFaults[code] ?? 'bad_request', parserHints[code]);
    }
  }

  function stateOf(socket: Socket): { call: Call | undefined; whole: boolean } {
    const call = linger.lastCall(socket);
    return { call, whole: call?.request.complete ?? true };
  }

  /** Node looks at its clock before it reads: by now it has read what came while this thread was busy. */
  function answerLate(
    error: NodeJS.ErrnoException,
    socket: Socket,
    before: ReturnType<typeof stateOf>,
  ): void {
    const { call, whole } = stateOf(socket);
    if (call !== before.call || whole !== before.whole) faulty.delete(socket);
    // All whose time is over are reported in one go.
    else inTurn(() => answer(error, socket));
  }

  return function answerFault(error, socket) {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    if (faulty.has(socket)) return;
    faulty.add(socket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') setImmediate(answerLate, error, socket, stateOf(socket));
    else answer(error, socket);
  };
}

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
  const serve = serveRoundRobin(listener);
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
