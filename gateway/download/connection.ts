import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Client } from 'undici';
import { hostOf, requirePublic, sourceFailed, type Target } from './url.js';

/** The owner of a connection or a TLS session, which never serves another tenant, scheme, host or port. */
interface Owner {
  tenant: string;
  /** `scheme://host[:port]`, as `URL.origin` writes it. */
  origin: string;
}

export interface DialOptions {
  /** PEM certificates to trust in place of Node's. */
  ca?: string | Buffer;
  connect?: (to: { host: string; port: number }) => Socket;
}

interface Dialled {
  /** Ready for HTTP, behind TLS where the url says https. */
  socket: Socket;
  address: string;
}

export type Dial = ReturnType<typeof createDial>;

/** A name with hundreds of silent addresses must not turn one request into hundreds of connections. */
const maxAttempts = 4;
const attemptMs = 3000;

/**
 * The only place that opens a connection to a source, at one of the very addresses that were checked: a second look-up
 * could give another answer (DNS rebinding). Own code because the `lookup` of Node's and undici's connectors never sees
 * a host that is an address, nor the address that was connected to.
 */
export function createDial({ ca, connect = net.connect }: DialOptions) {
  const sessions = createSessions();
  /** One for all connections, since it holds the authorities; it resumes nothing by itself. */
  let secureContext: SecureContext | undefined;

  /** Opens a connection to one of the checked addresses of a target. Without an owner no TLS session is kept. */
  return async function dial(
    addresses: readonly string[],
    target: Target,
    { owner, signal }: { owner: Owner | undefined; signal: AbortSignal },
  ): Promise<Dialled> {
    const { socket, address } = await connectToOne(addresses, target, signal);
    if (target.url.protocol !== 'https:') return { socket, address };
    return { socket: await secure(socket, target, owner, signal), address };
  };

  async function connectToOne(addresses: readonly string[], target: Target, signal: AbortSignal) {
    const port = Number(target.url.port || (target.url.protocol === 'https:' ? 443 : 80));
    let failure: unknown;
    for (const address of addresses.slice(0, maxAttempts)) {
      signal.throwIfAborted();
      const socket = withErrorListener(connect({ host: address, port }));
      const giveUp = () => socket.destroy(new Error(`no connection in ${attemptMs} ms`));
      const timer = setTimeout(giveUp, attemptMs);
      try {
        await once(socket, 'connect', { signal });
        // Whatever sits between this code and the network, the peer itself has the last word.
        if (!target.exempt) requirePublic(socket.remoteAddress ?? '');
        return { socket, address };
      } catch (error) {
        socket.destroy();
        failure = error;
        if (signal.aborted || (error as { code?: unknown }).code === 'source_refused') throw error;
      } finally {
        clearTimeout(timer);
      }
    }
    throw sourceFailed('The server behind the url cannot be reached.', failure);
  }

  async function secure(socket: Socket, { url }: Target, owner: Owner | undefined, signal: AbortSignal) {
    const host = hostOf(url);
    secureContext ??= tls.createSecureContext({ minVersion: 'TLSv1.2', ...(ca && { ca }) });
    const session = owner && sessions.find(owner);
    const secured = withErrorListener(
      tls.connect({
        socket,
        // The certificate is checked against this name; an IP address is no server name (RFC 6066).
        host,
        servername: isIP(host) ? '' : host,
        ALPNProtocols: ['http/1.1'],
        // Explicit, like the version above, so that NODE_TLS_REJECT_UNAUTHORIZED and --tls-min-v1.0 do not apply.
        rejectUnauthorized: true,
        secureContext,
        ...(session && { session: session.ticket }),
      }),
    );
    if (owner) sessions.watch(owner, secured, session);
    try {
      await once(secured, 'secureConnect', { signal });
      return secured;
    } catch (error) {
      secured.destroy();
      socket.destroy();
      const message = 'No secure connection to the server behind the url (TLS or its certificate).';
      throw sourceFailed(message, error);
    }
  }
}

/** An `error` event between two awaits, without a listener, would end the process. */
function withErrorListener<S extends Socket>(socket: S): S {
  return socket.on('error', () => {});
}

interface Session {
  /** As Node's `session` event gives it and `tls.connect` takes it. */
  ticket: Buffer;
  /** When the certificate was checked, by `performance.now()`. */
  checkedAt: number;
}

/** A session holds the server's certificate, and a ticket that the server may make as long as 64 KB. */
const sessionLimits = { max: 1000, maxSize: 4 * 1024 * 1024, maxEntrySize: 16 * 1024 };
/** A resumed handshake shows no certificate and checks no name, so it must rest on a recent one that did. */
const sessionMs = 5 * 60_000;

/** Resumable TLS sessions by tenant and origin, which save the certificate's checks and never that of the address. */
export function createSessions() {
  const sessions = new LRUCache<string, Session>({
    ...sessionLimits,
    sizeCalculation: ({ ticket }) => ticket.length,
    ttl: sessionMs,
  });
  const keyOf = ({ tenant, origin }: Owner) => `${origin} ${tenant}`;

  return {
    find: (owner: Owner): Session | undefined => sessions.get(keyOf(owner)),
    /** Caches what the server gives on `socket`, a handshake in which `offered` was offered, once it is authorized. */
    watch(owner: Owner, socket: TLSSocket, offered: Session | undefined): void {
      let ticket: Buffer | undefined;
      let checkedAt: number | undefined;
      const store = () => {
        if (!ticket || checkedAt === undefined) return;
        // A session that came of a resumed one lives no longer than that.
        sessions.set(keyOf(owner), { ticket, checkedAt }, { start: checkedAt });
      };
      // TLS 1.2 brings it before the certificate's name has been checked, TLS 1.3 any time after.
      socket.on('session', (given) => {
        ticket = given;
        store();
      });
      socket.once('secureConnect', () => {
        checkedAt = offered && socket.isSessionReused() ? offered.checkedAt : performance.now();
        store();
      });
    },
  };
}

/** All that a source learns of the gateway: no key, cookie, referrer or client address goes out. */
export const ownHeaders = { 'user-agent': 'helper-gateway', 'accept-encoding': 'identity' };

/** A socket to a source and undici's reader of HTTP/1.1 on it, for one request at a time. */
export interface Connection extends Dialled {
  readonly client: Client;
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
  undici: { Client: typeof Client },
): Connection {
  let unused = true;
  const client = new undici.Client(origin, {
    // Asynchronously: the client ignores a socket that comes while it still asks. When that is gone it asks again, for
    // ever unless the error is of another kind than its own.
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

export function closeConnection({ socket, client }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => {});
}

/** Each costs a file descriptor, and some tens of KB with TLS. */
const mostIdle = 128;
const mostIdleOfTenant = 16;
/** The certificate is checked when a connection is opened, so none serves for long. */
const oldestMs = 60_000;

export type IdleConnections = ReturnType<typeof createIdleConnections>;

/** Connections without a request. Shared by tenants, they would show one what another downloads. `now` is for tests. */
export function createIdleConnections(now: () => number = () => performance.now()) {
  /** The oldest first. Few enough for linear search. */
  let idle: (Owner & { connection: Connection })[] = [];
  let closed = false;

  function removeAt(index: number): void {
    for (const { connection } of idle.splice(index, 1)) closeConnection(connection);
  }

  return {
    /** Hands out a connection of the owner to one of `addresses`, which were checked for this very request. */
    acquire({ tenant, origin }: Owner, addresses: readonly string[]): Connection | undefined {
      const index = idle.findLastIndex(
        (entry) =>
          entry.tenant === tenant &&
          entry.origin === origin &&
          addresses.includes(entry.connection.address) &&
          !entry.connection.socket.destroyed,
      );
      return index < 0 ? undefined : idle.splice(index, 1)[0]?.connection;
    },
    /** Caches a connection whose answer came whole; closes it if too old, and the oldest where there is no room. */
    release({ tenant, origin }: Owner, connection: Connection): void {
      const { socket, openedAt } = connection;
      if (closed || socket.destroyed || now() - openedAt > oldestMs) return void closeConnection(connection);
      idle = idle.filter((entry) => !entry.connection.socket.destroyed);
      idle.push({ tenant, origin, connection });
      const own = idle.filter((entry) => entry.tenant === tenant);
      if (own.length > mostIdleOfTenant) removeAt(idle.findIndex((entry) => entry.tenant === tenant));
      else if (idle.length > mostIdle) removeAt(0);
    },
    close(): void {
      closed = true;
      while (idle.length > 0) removeAt(0);
    },
  };
}
