import { once } from 'node:events';
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

export type Lifecycle = ReturnType<typeof createLifecycle>;

/** Balancers learn of the end by `Connection: close` and `/readyz`, before a connection closes under a request. */
export function createLifecycle() {
  let phase = 'open' as Phase;

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
    enter(next: Exclude<Phase, 'open'>): void {
      phase = next;
    },
    Response: Response as typeof ServerResponse,
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

async function listenHere(server: Server, host: string, port: number): Promise<string> {
  await once(server.listen(port, host), 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
}

function listenProblem({ code = '', message }: NodeJS.ErrnoException, variable: string): string {
  const problems: Record<string, string> = {
    EADDRINUSE: `something listens there already. Choose another port with ${variable}.`,
    EACCES: `this user may not open this port; take one from 1024 up with ${variable}.`,
    EADDRNOTAVAIL: 'this machine has no such address.',
    ENOTFOUND: 'this host name is not known.',
  };
  return problems[code] ?? message;
}

/** Stops listening, closes idle connections at once unless they are left alone, and all others after `graceMs`. */
export async function closeServer(server: Server, graceMs: number, leaveIdle = false): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  if (!leaveIdle) server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

interface HttpServerOptions {
  /** Milliseconds for a whole request to arrive; 0 (default) where the reader of the body bounds it. */
  requestTimeout?: number;
}

/** An HTTP server with tighter bounds than Node's, which answers JSON also where Node's parser refuses a request. */
export function createHttpServer(
  lifecycle: Lifecycle,
  listener: RequestListener,
  { requestTimeout = 0 }: HttpServerOptions = {},
): Server {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout,
    // Longer than the minute of balancers: if this side closed first, a request could cross with the close.
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
    if (target === undefined || !hasOneHost(request)) return refuseAndClose(response, 'bad_request');
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
 * Destroys connections beyond the maximum, for Node's `maxConnections` hands them back to the supervisor. Returns those
 * without a request, which Node counts as busy: `closeIdleConnections` closes them too.
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

/** Closes all pipelined answers with their connection: Node closes the first alone, others would stay in the budget. */
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

/** Errors of Node's parser with a code or message of their own; all others are `bad_request`. */
const parserErrors: Record<string, [ErrorCode, message?: string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout'],
  HPE_INVALID_URL: [
    'bad_request',
    'The address in the request line cannot be read: percent-encode all in it that is not plain ASCII (curl does with --get --data-urlencode).',
  ],
};

function refuseSocket(linger: Linger, socket: Socket, code: ErrorCode, message?: string): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = rawFailure(code, message);
  if (code === 'method_not_allowed') headers.allow = 'GET, HEAD, POST, OPTIONS';
  const fields = Object.entries({ ...headers, connection: 'close' });
  const lines = fields.map(([name, value]) => `${name}: ${value}`);
  // Node has removed its error listener, and an error without a listener ends the process.
  socket.on('error', () => socket.destroy());
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  linger.end(socket);
}

/**
 * Answers an error of Node's parser, once a connection: Node reports it again with all that follows. A running call is
 * answered first, and only once: a second answer to one request would go to the next client of the same proxy.
 */
export function createParserErrorHandler(linger: Linger) {
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
      refuseSocket(linger, socket, ...(parserErrors[error.code ?? ''] ?? ['bad_request']));
    }
  }

  return function handleParserError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return void answer(error, socket);
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

/** Starts the first few at once and the others in the next iterations of the event loop, round robin by requester. */
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
 * Yields to the event loop while hundreds of requests come at once, which Node hands over before all else. Requests
 * with one key queue behind each other, not before those with another; health probes never queue.
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

/** Bounds requests, because each connection may bring many. */
const mostWaiting = 10_000;

const starting = 'The gateway is starting.';

export type Front = ReturnType<typeof createFront>;

/** A server that can listen before its application exists: requests wait until then. */
export function createFront(
  lifecycle: Lifecycle,
  place: ListenOptions,
  /** `probes` answers requests that need no application; true where it did. */
  options: HttpServerOptions & { probes?: typeof answerProbes } = {},
) {
  const waiting = new Map<ServerResponse, IncomingMessage>();
  let listening: Promise<string> | undefined;
  let handle: RequestListener = wait;
  const server = createHttpServer(lifecycle, (request, response) => handle(request, response), options);

  function wait(request: IncomingMessage, response: ServerResponse): void {
    if (options.probes?.(request, response)) return;
    if (waiting.size === mostWaiting) return void send(response, rawFailure('busy', starting));
    waiting.set(response, request);
    response.once('close', () => waiting.delete(response));
  }

  return {
    /** Listens, once; resolves with the server's url. */
    listen: (): Promise<string> => (listening ??= listen(server, place)),
    open(opened: RequestListener): void {
      handle = opened;
      const begin = serveRoundRobin(opened);
      for (const [response, request] of waiting) begin(request, response);
      waiting.clear();
    },
    /** Refuses requests that still wait, stops listening and lets running calls finish, for at most `graceMs`. */
    close(graceMs: number): Promise<void> {
      if (handle === wait) handle = (_, response) => refuseAndClose(response, 'shutting_down');
      for (const response of waiting.keys()) refuseAndClose(response, 'shutting_down');
      waiting.clear();
      place.inlets?.close();
      return closeServer(server, graceMs);
    },
    /** Waits for the calls under way, at most `graceMs`, where no more connections come. */
    finish: (graceMs: number): Promise<void> => closeServer(server, graceMs, true),
  };
}

/** `/healthz` and `/readyz` of a process that starts, as the application answers them later. */
export function answerProbes({ method, url = '' }: IncomingMessage, response: ServerResponse): boolean {
  const [path] = url.split('?', 1);
  if ((method !== 'GET' && method !== 'HEAD') || (path !== '/readyz' && path !== '/healthz')) return false;
  send(response, path === '/readyz' ? rawFailure('busy', starting) : rawSuccess({ status: 'alive' }));
  return true;
}

function refuseAndClose(response: ServerResponse, code: ErrorCode): void {
  response.setHeader('connection', 'close');
  send(response, rawFailure(code));
}

function send(response: ServerResponse, { status, headers, body }: RawAnswer): void {
  response.writeHead(status, headers).end(body);
}
