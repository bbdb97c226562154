import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { hostOf, requirePublic, sourceFailed, type Target } from './url.js';

/** The owner of a connection or a TLS session, which never serves another tenant, scheme, host or port. */
export interface Owner {
  tenant: string;
  /** `scheme://host[:port]`, as `URL.origin` writes it. */
  origin: string;
}

export interface DialOptions {
  /** PEM certificates to trust in place of Node's. */
  ca?: string | Buffer;
  /** Opens a TCP connection; default `net.connect`. */
  connect?: (to: { host: string; port: number }) => Socket;
}

export interface Dialled {
  /** Ready for HTTP, behind TLS where the url says https. */
  socket: Socket;
  /** The address among those given that it leads to. */
  address: string;
}

/** Opens a connection to one of the checked `addresses` of a target; aborted by `signal`. Without an owner no TLS session is kept. */
export type Dial = (
  addresses: readonly string[],
  target: Target,
  options: { owner: Owner | undefined; signal: AbortSignal },
) => Promise<Dialled>;

/** A name with hundreds of silent addresses must not turn one request into hundreds of connections. */
const maxAttempts = 4;
const attemptMs = 3000;

/**
 * The only place that opens a connection to a source. It connects to one of the very addresses that were checked: a second look-up
 * could give another answer (DNS rebinding). Own code because the `lookup` of Node's and undici's connectors, on which guards are
 * built elsewhere, never sees a host that is an address, nor the address that was connected to.
 */
export function createDial({ ca, connect = net.connect }: DialOptions): Dial {
  const sessions = createSessions();
  /** One for all connections, since it holds the authorities; it resumes nothing by itself. */
  let secureContext: SecureContext | undefined;

  return async function dial(addresses, target, { owner, signal }) {
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
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection in ${attemptMs} ms`)),
        attemptMs,
      );
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

  async function secure(
    socket: Socket,
    { url }: Target,
    owner: Owner | undefined,
    signal: AbortSignal,
  ): Promise<Socket> {
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
      throw sourceFailed(
        'No secure connection to the server behind the url (TLS or its certificate).',
        error,
      );
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

/**
 * Resumable TLS sessions by tenant and origin. Resuming saves the certificate's checks, half of what a connection costs, and never the
 * check of the address. By tenant, because offering a session shows that one has been there before.
 */
export function createSessions() {
  const sessions = new LRUCache<string, Session>({
    ...sessionLimits,
    sizeCalculation: ({ ticket }) => ticket.length,
    ttl: sessionMs,
  });
  const keyOf = ({ tenant, origin }: Owner) => `${origin} ${tenant}`;

  return {
    find: (owner: Owner): Session | undefined => sessions.get(keyOf(owner)),
    /** Remembers what the server gives on `socket`, a handshake in which `offered` was offered, once it is authorized. */
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
