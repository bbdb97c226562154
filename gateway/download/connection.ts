import type { Client } from 'undici';
import type { Dialled, Owner } from './dial.js';

/** All that a source learns of the gateway: no key, cookie, referrer or client address goes out. */
export const ownHeaders = { 'user-agent': 'helper-gateway', 'accept-encoding': 'identity' };

/** A socket to a source and undici's reader of HTTP/1.1 on it, for one request at a time. */
export interface Connection extends Dialled {
  readonly client: Client;
  /** By `performance.now()`. */
  readonly openedAt: number;
  /** Bytes that had been read when the last request was written; infinite if it was not. */
  readBefore: number;
  /** Called during a request when bytes have been parsed. Without a request they end the connection. */
  onBytes: (() => void) | undefined;
}

/** Never met: undici makes an error of every header past its limit, which costs more than reading them. */
const clientHeaderBytes = 1024 * 1024;
/** Less than servers wait, so that they seldom close a connection just as it is used again. */
const idleMs = 4000;

/** Loads undici, a tenth of a second that few starts need. */
export const loadUndici = () => import('undici');

/** Puts HTTP on a socket; `origin` names the host in the requests. */
export function openConnection(
  { socket, address }: Dialled,
  origin: string,
  undici: Pick<Awaited<ReturnType<typeof loadUndici>>, 'Client'>,
): Connection {
  let unused = true;
  const client = new undici.Client(origin, {
    // Asynchronously: the client ignores a socket that comes while it is still asking for one. It asks again when that one is
    // gone, and without an error of another kind than its own it would ask for ever.
    connect: (_options, callback) => {
      const first = unused;
      unused = false;
      queueMicrotask(() => (first ? callback(null, socket) : callback(new Error('closed'), null)));
    },
    maxHeaderSize: clientHeaderBytes,
    // The deadline over the whole download replaces both.
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
  // After the client's own listener, when everything that it read has been parsed.
  client.once('connect', () => {
    socket.on('readable', () => (connection.onBytes ? connection.onBytes() : socket.destroy()));
  });
  return connection;
}

/** Ends a connection at once; may be called twice. */
export function closeConnection({ socket, client }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => {});
}

/** Connections without a request, for a tenant's next download from the same origin. */
export interface IdleConnections {
  /** Hands out a connection of `owner` to one of `addresses`, which were checked for this very request. */
  acquire(owner: Owner, addresses: readonly string[]): Connection | undefined;
  /** Keeps a connection whose answer has come whole; closes it if it is too old, and the oldest where there is no room. */
  release(owner: Owner, connection: Connection): void;
  /** Closes all, and all that are released later. */
  close(): void;
}

/** Each costs a file descriptor, and some tens of KB with TLS. */
const mostIdle = 128;
const mostIdleOfTenant = 16;
/** The certificate is checked when a connection is opened, so none serves for long. */
const oldestMs = 60_000;

/**
 * Connections are never shared between tenants: a tenant that asks a source of its own whether a connection was open would learn what
 * another downloads. `now` in milliseconds is for tests.
 */
export function createIdleConnections(now: () => number = () => performance.now()): IdleConnections {
  /** The oldest first. Few enough for linear search. */
  let idle: (Owner & { connection: Connection })[] = [];
  let closed = false;

  function removeAt(index: number): void {
    for (const { connection } of idle.splice(index, 1)) closeConnection(connection);
  }

  return {
    acquire({ tenant, origin }, addresses) {
      const index = idle.findLastIndex(
        (entry) =>
          entry.tenant === tenant &&
          entry.origin === origin &&
          addresses.includes(entry.connection.address) &&
          !entry.connection.socket.destroyed,
      );
      return index < 0 ? undefined : idle.splice(index, 1)[0]?.connection;
    },
    release({ tenant, origin }, connection) {
      const { socket, openedAt } = connection;
      if (closed || socket.destroyed || now() - openedAt > oldestMs) return closeConnection(connection);
      idle = idle.filter((entry) => !entry.connection.socket.destroyed);
      idle.push({ tenant, origin, connection });
      const own = idle.filter((entry) => entry.tenant === tenant);
      if (own.length > mostIdleOfTenant) removeAt(idle.findIndex((entry) => entry.tenant === tenant));
      else if (idle.length > mostIdle) removeAt(0);
    },
    close() {
      closed = true;
      while (idle.length > 0) removeAt(0);
    },
  };
}
