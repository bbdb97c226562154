import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import {
  type AddressLookupOptions,
  createAddressLookup,
  createResolve,
  type LookUpAddresses,
  requirePublic,
  resolveExempt,
} from './resolve.js';
import { type ExemptOrigins, hostOf, parseExemptOrigins, sourceFailed, type Target } from './url.js';

/** Whose a connection or a TLS session is: nothing of it ever serves another tenant, nor another scheme, host or port. */
export interface Owner {
  tenant: string;
  /** `scheme://host[:port]`, as `URL.origin` writes it. */
  origin: string;
}

export interface GuardOptions extends DialOptions, Partial<AddressLookupOptions> {
  /** Exempt origins, `scheme://host[:port]` each. */
  origins?: readonly string[];
}

/** What stands between a stranger's url and the network: which origins are exempt, where a host may be reached, and the way there. */
interface Guard {
  origins: ExemptOrigins;
  judge: LookUpAddresses;
  dial: Dial;
}

export function createGuard({ origins = [], ...options }: GuardOptions): Guard {
  return {
    origins: parseExemptOrigins(origins),
    judge: createAddressLookup({
      resolve: options.resolve ?? createResolve(),
      resolveExempt: options.resolveExempt ?? resolveExempt,
    }),
    dial: createDial(options),
  };
}

interface DialOptions {
  /** PEM certificates to trust in place of Node's. */
  ca?: string | Buffer;
  /** Opens a TCP connection; default `net.connect`. */
  connect?: (to: { host: string; port: number }) => Socket;
}

export interface Dialled {
  /** Ready for HTTP, behind TLS where the url says https. */
  socket: Socket;
  /** Which of the judged addresses it leads to. */
  address: string;
}

/** Opens a connection to one of the judged `addresses` of a target; aborted by `signal`. Without an owner it leaves no trace. */
export type Dial = (
  addresses: readonly string[],
  target: Target,
  options: { owner: Owner | undefined; signal: AbortSignal },
) => Promise<Dialled>;

/** A name with hundreds of silent addresses must not turn one request into hundreds of connections. */
const maxAttempts = 4;
const attemptMs = 3000;

/**
 * The only place that opens a connection to a source. It goes to one of the very addresses that were judged: a second
 * look-up could give another answer (DNS rebinding). Own code because the `lookup` of Node's and undici's connectors, on which
 * guards are built elsewhere, is not asked about a host that is an address, nor told to which address the connection went.
 */
function createDial({ ca, connect = net.connect }: DialOptions): Dial {
  const sessions = createSessions();
  /** One for all connections, since it holds the authorities; of itself it resumes nothing, as Node wants to be handed a session. */
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
        if (signal.aborted || isRefusal(error)) throw error;
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
        // The certificate is checked against this name; an IP address is no name to indicate (RFC 6066).
        host,
        servername: isIP(host) ? '' : host,
        ALPNProtocols: ['http/1.1'],
        // Said here, as the version above, so that NODE_TLS_REJECT_UNAUTHORIZED and --tls-min-v1.0 cannot unsay it.
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

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'source_refused';
}

/** An `error` event between two awaits, with nobody listening, would end the process. */
function withErrorListener<S extends Socket>(socket: S): S {
  return socket.on('error', () => {});
}

/** What a server gave to shorten the next handshake. */
interface Session {
  /** As Node's `session` event gives it and `tls.connect` takes it. */
  ticket: Buffer;
  /** When the certificate was checked, by `performance.now()`. */
  checkedAt: number;
}

/** TLS sessions that may be resumed, by tenant and origin. */
interface Sessions {
  find(owner: Owner): Session | undefined;
  /** Remembers what the server gives on `socket`, a handshake in which `offered` was offered, once it is authorized. */
  watch(owner: Owner, socket: TLSSocket, offered: Session | undefined): void;
}

const mostSessions = 1000;
const mostSessionBytes = 4 * 1024 * 1024;
/** One holds the server's certificate, and a ticket that the server may make as long as 64 KB. */
const largestSession = 16 * 1024;
/** A resumed handshake shows no certificate and checks no name, so it must rest on one that did, not long ago. */
const lifeMs = 5 * 60_000;

/**
 * A session resumes only where the server still knows its secret; everywhere else the handshake is a whole one. It spares the
 * certificate's checks, half of what a connection costs, and never the judgement of the address. Per tenant, because whoever
 * offers a session says that he has been there before.
 */
export function createSessions(): Sessions {
  const sessions = new LRUCache<string, Session>({
    max: mostSessions,
    maxSize: mostSessionBytes,
    maxEntrySize: largestSession,
    sizeCalculation: ({ ticket }) => ticket.length,
    ttl: lifeMs,
  });

  return {
    find: (owner) => sessions.get(sessionKey(owner)),
    watch(owner, socket, offered) {
      let ticket: Buffer | undefined;
      let checkedAt: number | undefined;
      const keep = () => {
        if (!ticket || checkedAt === undefined) return;
        // A session that came of a resumed one lives no longer than that.
        sessions.set(sessionKey(owner), { ticket, checkedAt }, { start: checkedAt });
      };
      // TLS 1.2 brings it before the certificate's name has been checked, TLS 1.3 any time after.
      socket.on('session', (given) => {
        ticket = given;
        keep();
      });
      socket.once('secureConnect', () => {
        checkedAt = offered && socket.isSessionReused() ? offered.checkedAt : performance.now();
        keep();
      });
    },
  };
}

function sessionKey({ tenant, origin }: Owner): string {
  return `${origin} ${tenant}`;
}
