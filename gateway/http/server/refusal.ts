import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, GatewayError } from '../../errors.js';
import { envelopeType, failure, plainMeta } from '../envelope.js';
import type { Call, Linger } from './linger.js';
import { createTurns } from './take-turns.js';

/** What a request is answered that never gets to the pipeline; the connection ends with it. */
export function refusal(code: ErrorCode, message?: string) {
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
export function refuseSocket(linger: Linger, socket: Socket, code: ErrorCode, message?: string): void {
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
  const inTurn = createTurns();

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
