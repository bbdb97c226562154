import type { Client } from 'undici';
import type { Dialled } from './dial.js';

/** A socket to a source and undici's reader of HTTP/1.1 on it, for one request at a time. */
export interface Connection extends Dialled {
  readonly client: Client;
  /** By `performance.now()`. */
  readonly openedAt: number;
  /** Bytes that had been read when the last request was written; infinite if it was not. */
  readBefore: number;
  /** Told, while a request runs, that bytes have come and been parsed. Without a request they end the connection. */
  onBytes: (() => void) | undefined;
}

/** undici makes an error of every header past its limit, which costs more than reading them: this one is never met. */
const clientHeaderBytes = 1024 * 1024;
/** Less than servers wait, so that they seldom close a connection just as it is used again. */
const idleMs = 4000;

/** Loads undici, which is a tenth of a second that few starts have a use for. */
export const loadUndici = () => import('undici');

export type Undici = Awaited<ReturnType<typeof loadUndici>>;

/** Puts HTTP on a socket; `origin` names the host in the requests. */
export function openConnection(
  { socket, address }: Dialled,
  origin: string,
  undici: Pick<Undici, 'Client'>,
): Connection {
  let unused = true;
  const client = new undici.Client(origin, {
    // Not at once: the client ignores a socket that comes while it is still asking for one. It asks again when that one is
    // gone, and gets an error of another kind than its own, after which it would ask for ever.
    connect: (_options, callback) => {
      const first = unused;
      unused = false;
      queueMicrotask(() => (first ? callback(null, socket) : callback(new Error('closed'), null)));
    },
    maxHeaderSize: clientHeaderBytes,
    // The deadline over the whole download stands in for both.
    headersTimeout: 0,
    bodyTimeout: 0,
    // A server may announce a shorter time, which is heeded.
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    allowH2: false,
  });
  const connection: Connection = {
    socket,
    address,
    client,
    openedAt: performance.now(),
    readBefore: Number.POSITIVE_INFINITY,
    onBytes: undefined,
  };
  // After the client's own listener, when all that it took from the socket has been parsed.
  client.once('connect', () => {
    socket.on('readable', () => (connection.onBytes ? connection.onBytes() : socket.destroy()));
  });
  return connection;
}

/** Ends a connection at once, whatever is on its way; twice is once. */
export function closeConnection({ socket, client }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => {});
}
