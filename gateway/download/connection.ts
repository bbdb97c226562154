import type { Client } from 'undici';
import type { Dialled, Owner } from './dial.js';

/** All that a source learns of the gateway, besides what is asked for: no key, cookie, referrer or client address goes out. */
export const ownHeaders = { 'user-agent': 'helper-gateway', 'accept-encoding': 'identity' };

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

type Undici = Awaited<ReturnType<typeof loadUndici>>;

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

/** Connections without a request, for a tenant's next download from the same origin. */
export interface IdleConnections {
  /** Hands out one of `owner` that leads to one of `addresses`, which are those judged for this very request. */
  take(owner: Owner, addresses: readonly string[]): Connection | undefined;
  /** Keeps a connection whose answer has come whole; closes it if it is too old, and the oldest where there is no room. */
  give(owner: Owner, connection: Connection): void;
  /** Closes all, and whatever is given from now on. */
  close(): void;
}

interface IdleEntry extends Owner {
  connection: Connection;
}

/** In whole: each costs a file descriptor, and some tens of KB where it is TLS. */
const mostIdle = 128;
const mostIdleOfTenant = 16;
/** The certificate is checked when a connection is opened, so none serves for long. */
const oldestMs = 60_000;

/**
 * A connection is never shared between tenants: who asks a source of his own whether a connection was there would
 * learn what another downloads. `now` in milliseconds is for tests.
 */
export function createIdleConnections(now: () => number = () => performance.now()): IdleConnections {
  /** The oldest first. Few enough to be looked through. */
  let idle: IdleEntry[] = [];
  let closed = false;

  function removeAt(index: number): void {
    for (const { connection } of idle.splice(index, 1)) closeConnection(connection);
  }

  return {
    take({ tenant, origin }, addresses) {
      const index = idle.findLastIndex(
        (entry) =>
          entry.tenant === tenant &&
          entry.origin === origin &&
          addresses.includes(entry.connection.address) &&
          !entry.connection.socket.destroyed,
      );
      return index < 0 ? undefined : idle.splice(index, 1)[0]?.connection;
    },
    give({ tenant, origin }, connection) {
      const { socket, openedAt } = connection;
      if (closed || socket.destroyed || now() - openedAt > oldestMs) return closeConnection(connection);
      idle = idle.filter((entry) => !entry.connection.socket.destroyed);
      idle.push({ tenant, origin, connection });
      const own = idle.filter((entry) => entry.tenant === tenant);
      if (own.length > mostIdleOfTenant) removeAt(idle.indexOf(own[0] as IdleEntry));
      else if (idle.length > mostIdle) removeAt(0);
    },
    close() {
      closed = true;
      while (idle.length > 0) removeAt(0);
    },
  };
}
