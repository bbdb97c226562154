import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readThrown, type Thrown } from '../../pool/thrown.js';
import { GatewayError } from '../errors.js';
import type { FaultTeller } from './respond.js';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/**
 * Tells whoever writes a helper what a fault is: what was thrown, and where in a plugin below one of `folders`. Only for a gateway
 * that is worked at, and only callers on its own host learn it; to others, also behind a proxy there, it tells nothing.
 */
export function faultTeller(folders: readonly string[]): FaultTeller {
  return (error, request) => {
    if (error.cause === undefined || !isLocal(request)) return error;
    if (error.code === 'helper_timeout') return timeFault(error);
    if (error.code !== 'internal') return error;
    // What a handler has thrown was read where it ran.
    const thrown = error.cause instanceof Error ? readThrown(error.cause) : (error.cause as Thrown);
    const place = placeOf(thrown, folders);
    const message = `The helper failed: ${wordsOf(thrown)}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
    return new GatewayError('internal', { message, cause: error.cause });
  };
}

/** Whose time it was that was up, the author has to know: a caller of others can only send less. */
function timeFault({ cause, message: said }: GatewayError): GatewayError {
  const { ms } = cause as { ms?: unknown };
  if (typeof ms !== 'number') return new GatewayError('helper_timeout', { cause });
  const whose = 'timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS';
  const message = `${said} It had worked for ${Math.round(ms)} ms; ${whose}, says how long it may.`;
  return new GatewayError('helper_timeout', { message, cause });
}

/** Of a thread that is gone nothing tells why; there is one usual reason. */
function exitHint({ causes = [] }: Thrown): string {
  return causes.some(({ message }) => message.startsWith('worker exited with code'))
    ? '; a plugin must not call process.exit'
    : '';
}

function isLocal({
  headers,
  socket: { remoteAddress = '' },
}: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return loopback.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
}

function wordsOf({ name, message, causes = [] }: Thrown): string {
  const own = name === undefined ? message : `${name}: ${message}`;
  return [own, ...causes.map(wordsOf)].join('; caused by ');
}

/** The plugin's first frame: those of the gateway and of packages help nobody. */
function placeOf({ stack = '' }: Thrown, folders: readonly string[]): string | undefined {
  for (const line of stack.split('\n')) {
    const [, file, place] = /(file:\/\/[^)\s]+?):(\d+:\d+)\)?$/.exec(line) ?? [];
    const isPlugins = folders.some((folder) => file?.startsWith(`${pathToFileURL(folder).href}/`));
    if (file && isPlugins && !file.includes('/node_modules/')) return `${fileURLToPath(file)}:${place}`;
  }
  return undefined;
}
