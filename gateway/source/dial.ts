import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import { sourceFailed } from './failure.js';
import { requirePublic } from './judge.js';
import type { Owner } from './owner.js';
import { createSessions } from './sessions.js';
import { hostOf, type Target } from './url.js';

export interface DialOptions {
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
export function createDial({ ca, connect = net.connect }: DialOptions): Dial {
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
      const socket = watched(connect({ host: address, port }));
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
    const secured = watched(
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
function watched<S extends Socket>(socket: S): S {
  return socket.on('error', () => {});
}
