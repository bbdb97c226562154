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
import type { ErrorCode } from '../errors.js';
import { createLinger, type Inlets, type Linger } from './connections.js';
import { type RawAnswer, rawFailure, rawSuccess } from './envelope.js';
import { hasOneHost, originForm } from './request.js';

/** `draining`: everything is served, but not for long; `closing`: only running calls are finished. */
export type Phase = 'open' | 'draining' | 'closing';

/** The phase of the gateway, for all of its servers. */
export interface Lifecycle {
  phase(): Phase;
  enter(phase: Exclude<Phase, 'open'>): void;
  /** The response class of the servers. */
  readonly Response: typeof ServerResponse;
}

/**
 * A balancer must learn of the end before a connection closes under a request that it has just sent: `Connection: close`
 * says so with each answer from then on, `/readyz` with the next health check.
 */
export function createLifecycle(): Lifecycle {
  let phase: Phase = 'open';

  class Response<R extends IncomingMessage> extends ServerResponse<R> {
    /** Node calls it for every answer at the moment its head is made. */
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

interface ListenOptions {
  host: string;
  port: number;
  /** The variable that sets the port, named in errors. */
  variable: string;
  /** Where another process listens and passes on the connections. */
  inlets?: Inlets | undefined;
}

/** Resolves with the server's url; rejects where the address is in use or not allowed. */
export async function listen(
  server: Server,
  { host, port, variable, inlets }: ListenOptions,
): Promise<string> {
  try {
    return await (inlets ? inlets.listen(server, { host, port }) : listenHere(server, host, port));
  } catch (error) {
    const reason = listenProblem(error as NodeJS.ErrnoException, variable);
    throw new Error(`Cannot listen on ${host}:${port}: ${reason}`, { cause: error });
  }
}

function listenHere(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

function listenProblem({ code, message }: NodeJS.ErrnoException, variable: string): string {
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

/** Stops listening, closes idle connections at once unless they are left alone, and all others after `graceMs`. */
export async function closeServer(
  server: Server,
  graceMs: number,
  { idle = true }: { idle?: boolean } = {},
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  if (idle) server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

interface HttpServerOptions {
  /** Milliseconds for a whole request to arrive; 0 (default) where the reader of the body bounds it. */
  requestTimeout?: number;
}

/**
 * An HTTP server with bounds for short calls, which answers JSON also where Node's parser refuses a request. Node's own
 * bounds (a minute for headers, five for a request) let few clients hold many connections.
 */
export function createHttpServer(
  lifecycle: Lifecycle,
  listener: RequestListener,
  { requestTimeout = 0 }: HttpServerOptions = {},
): Server {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout,
    // Longer than the minute for which balancers keep idle connections: if this side closed first, a request could cross
    // with the close.
    keepAliveTimeout: 75_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024,
    // Checked below, because Node's own answer to a missing one is not JSON.
    requireHostHeader: false,
    ServerResponse: lifecycle.Response,
  });
  const linger = createLinger(server);
  const unused = trackConnections(server);
  const serve = serveRoundRobin(listener);
  const closeWithSocket = createQueuedCloser();
  const answer = linger.wrap((request, response) => {
    unused.delete(request.socket);
    if (response.socket === null) closeWithSocket(response, request.socket);
    const target = originForm(request.url ?? '');
    if (target === undefined || !hasOneHost(request)) {
      const { status, headers, body } = rawFailure('bad_request');
      response.writeHead(status, { ...headers, connection: 'close' }).end(body);
      return;
    }
    request.url = target;
    serve(request, response);
  });
  server.on('request', answer);
  // An unknown Expect header is no reason to answer without a body.
  server.on('checkExpectation', answer);
  // The stage that reads the body sends 100 Continue, once the key is known.
  server.on('checkContinue', answer);
  // Node would hang up without an answer on a client that takes this for a proxy.
  server.on('connect', (_, socket: Socket) => refuseSocket(linger, socket, 'method_not_allowed'));
  server.on('clientError', createParserErrorHandler(linger));
  return server;
}

const maxConnections = 10_000;

/**
 * Destroys connections beyond the maximum, and lets `closeIdleConnections` close those that have sent no request too: Node
 * counts them as busy, and browsers open them in advance. Returns these; a request removes its socket. Node's
 * `maxConnections` does not work in a child that shares a port: it hands the connection back, round and round where all are full.
 */
function trackConnections(server: Server): Set<Socket> {
  const unused = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    unused.add(socket);
    socket.once('close', () => {
      open -= 1;
      unused.delete(socket);
    });
    if (open > maxConnections) socket.destroy();
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = function closeIdleConnections() {
    closeIdle();
    for (const socket of unused) socket.destroy();
  };
  return unused;
}

/**
 * Closes the answers to pipelined requests with their connection. Node closes only the one that it is sending: the others would
 * never end, and would stay in the outbound budget.
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

/** Errors of Node's parser with a code of their own; all others are `bad_request`. */
const parserErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

const parserHints: Record<string, string> = {
  HPE_INVALID_URL:
    'The address in the request line cannot be read: percent-encode all in it that is not plain ASCII (curl does with --get --data-urlencode).',
};

/** Answers where there is no response object, and closes the connection. */
function refuseSocket(linger: Linger, socket: Socket, code: ErrorCode, message?: string): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = rawFailure(code, message);
  if (code === 'method_not_allowed') headers.allow = 'GET, HEAD, POST, OPTIONS';
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  // Node has taken its error listener off the socket, and an error without a listener ends the process.
  socket.on('error', () => socket.destroy());
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  linger.end(socket);
}

/**
 * Answers an error of Node's parser, once a connection: Node reports it again with all that follows. A call that is still to be
 * answered is answered first, and only once: a second answer to one request would go to the next client of the same proxy.
 */
export function createParserErrorHandler(
  linger: Linger,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  const refused = new WeakSet<Socket>();
  const roundRobin = createRoundRobin();

  function stateOf(socket: Socket) {
    const call = linger.lastCall(socket);
    return { call, whole: call?.request.complete ?? true };
  }

  function answer(error: NodeJS.ErrnoException, socket: Socket): void {
    const { call, whole } = stateOf(socket);
    const answered = call?.response.writableFinished ?? true;
    if (!answered && (whole || call?.response.headersSent)) {
      call?.response.once('close', () => answer(error, socket));
    } else if (answered && !whole) {
      linger.end(socket);
    } else {
      const code = error.code ?? '';
      refuseSocket(linger, socket, parserErrors[code] ?? 'bad_request', parserHints[code]);
    }
  }

  return function handleParserError(error, socket) {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return answer(error, socket);
    // Node looks at its clock before it reads: first let it read what came while this thread was busy.
    const before = stateOf(socket);
    setImmediate(() => {
      const { call, whole } = stateOf(socket);
      if (call !== before.call || whole !== before.whole) refused.delete(socket);
      // Node reports all that have timed out at once.
      else roundRobin(() => answer(error, socket));
    });
  };
}

/** Starts in one iteration of the event loop: some milliseconds of work. */
const startsPerIteration = 16;

/** Balancers ask these with little patience, and they cost nothing. */
const healthProbe = /^\/(?:healthz|readyz)(?:$|\?)/;

/**
 * Starts the first few at once and the others in the next iterations of the event loop: round robin by requester, in order for
 * each.
 */
function createRoundRobin(): (start: () => void, requesterOf?: () => string) => void {
  const waiting = new Map<string, (() => void)[]>();
  let started = 0;
  let ticking = false;

  function next(): (() => void)[] {
    const chosen: (() => void)[] = [];
    for (const [requester, starts] of waiting) {
      if (chosen.length === startsPerIteration) break;
      waiting.delete(requester);
      chosen.push(...starts.splice(0, 1));
      // Re-inserted at the end, where this loop reaches it again.
      if (starts.length > 0) waiting.set(requester, starts);
    }
    return chosen;
  }

  function tick(): void {
    const chosen = next();
    started = chosen.length;
    ticking = started > 0;
    if (ticking) setImmediate(tick);
    for (const start of chosen) start();
  }

  return function roundRobin(start, requesterOf = () => '') {
    if (started >= startsPerIteration) {
      const requester = requesterOf();
      const starts = waiting.get(requester);
      if (starts) starts.push(start);
      else waiting.set(requester, [start]);
      return;
    }
    started += 1;
    if (!ticking) setImmediate(tick);
    ticking = true;
    start();
  };
}

/**
 * Yields to the event loop while hundreds of requests come at once: Node hands over all that have arrived before it does
 * anything else. Requests with one key queue behind each other, not before those with another; health probes never queue.
 */
export function serveRoundRobin(listener: RequestListener): RequestListener {
  const roundRobin = createRoundRobin();

  return function serve(request, response) {
    if (healthProbe.test(request.url ?? '')) return listener(request, response);
    roundRobin(
      () => {
        if (!request.socket.destroyed) listener(request, response);
      },
      () => keyText(request),
    );
  };
}

/** The key or its id as sent: the tenant is known only once the call has started. */
function keyText({ headers, url = '' }: IncomingMessage): string {
  return headers.authorization ?? /[?&](?:ak|kid)=([^&]*)/.exec(url)?.[1] ?? '';
}

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
