import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls from 'node:tls';
import { judgeAddress } from './address.js';
import { sourceFailed, sourceRefused } from './failure.js';
import type { Resolve } from './resolve.js';
import { hostOf, type Target } from './url.js';

export interface DialOptions {
  resolve: Resolve;
  resolveExempt: Resolve;
  /** PEM certificates to trust in place of Node's. */
  ca?: string | Buffer;
  /** Opens a TCP connection; default `net.connect`. */
  connect?: (to: { host: string; port: number }) => Socket;
}

/** Opens a connection whose other end has been judged, with TLS where the url says https; aborted by `signal`. */
export type Dial = (target: Target, signal: AbortSignal) => Promise<Socket>;

/** A name with hundreds of silent addresses must not turn one request into hundreds of connections. */
const maxAttempts = 4;
const attemptMs = 3000;
const noAddress = 'The host name of the url has no address.';

/**
 * The only place that opens a connection to a source. A name is resolved once, every address it has must be public, and
 * the connection goes to one of those very addresses: a second look-up could give another answer (DNS rebinding). Own code
 * because the `lookup` of Node's and undici's connectors, on which guards are built elsewhere, is not asked about a host that
 * is an address, nor told to which address the connection went.
 */
export function createDial({ resolve, resolveExempt, ca, connect = net.connect }: DialOptions): Dial {
  return async function dial(target, signal) {
    const addresses = await addressesOf(target, signal);
    const socket = await connectToOne(addresses, target, signal);
    return target.url.protocol === 'https:' ? secure(socket, target, signal) : socket;
  };

  async function addressesOf({ url, exempt }: Target, signal: AbortSignal): Promise<readonly string[]> {
    const host = hostOf(url);
    const addresses = isIP(host) ? [host] : await lookUp(exempt ? resolveExempt : resolve, host, signal);
    if (!exempt) for (const address of addresses) requirePublic(address);
    return addresses;
  }

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
        return socket;
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

  async function secure(socket: Socket, { url }: Target, signal: AbortSignal): Promise<Socket> {
    const host = hostOf(url);
    const secured = watched(
      tls.connect({
        socket,
        // The certificate is checked against this name; an IP address is no name to indicate (RFC 6066).
        host,
        servername: isIP(host) ? '' : host,
        ALPNProtocols: ['http/1.1'],
        // Said here so that NODE_TLS_REJECT_UNAUTHORIZED and --tls-min-v1.0 cannot unsay it.
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ...(ca && { ca }),
      }),
    );
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

async function lookUp(resolve: Resolve, host: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const addresses = await Promise.race([resolve(host, signal), aborted]);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    throw sourceFailed(noAddress, error);
  }
  throw sourceFailed(noAddress);
}

function requirePublic(address: string): void {
  const verdict = judgeAddress(address);
  if (!verdict.public) throw sourceRefused(`${address}: ${verdict.reason}`);
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'source_refused';
}

/** An `error` event between two awaits, with nobody listening, would end the process. */
function watched<S extends Socket>(socket: S): S {
  return socket.on('error', () => {});
}
