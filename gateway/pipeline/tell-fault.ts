import { existsSync, realpathSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readThrown, type Thrown } from '../../pool/thrown.js';
import { GatewayError } from '../errors.js';
import type { PluginProblem } from '../helpers/discover.js';
import { exitHint, timeHint } from '../helpers/fault-hints.js';
import { isLoopbackAddress, isOwnHost } from '../http/loopback.js';
import type { FaultTeller } from './respond.js';

/** Says what everybody may know, and no more. */
export const tellNoMore: FaultTeller = (error) => error;

/**
 * Tells whoever writes a helper what a fault is: what was thrown, and where in a plugin below one of `folders`, or why there is none
 * at a path. Only for a gateway that is worked at, and only callers on its own host learn it, who ask for a name of its own; to others, also
 * behind a proxy there, it tells nothing.
 */
export function faultTeller(
  folders: readonly string[],
  {
    problems = () => [],
    apiUrl,
  }: { problems?: () => readonly PluginProblem[]; apiUrl?: string | undefined } = {},
): FaultTeller {
  const isLocal = (request: IncomingMessage) =>
    isFromHere(request) && isOwnHost(request.headers.host, apiUrl);
  return (error, request) => {
    if (error.code === 'not_found' && error.cause === undefined && isLocal(request)) {
      return withProblem(error, request.url, folders, problems());
    }
    if (error.cause === undefined || !isLocal(request)) return error;
    if (error.code === 'helper_timeout') {
      const message = `${error.message}${timeHint(error.cause)}`;
      return new GatewayError('helper_timeout', { message, cause: error.cause });
    }
    if (error.code !== 'internal') return error;
    // What a handler has thrown was read where it ran.
    const thrown = error.cause instanceof Error ? readThrown(error.cause) : (error.cause as Thrown);
    const place = placeOf(thrown, folders);
    const message = `The helper failed: ${wordsOf(thrown)}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
    return new GatewayError('internal', { message, cause: error.cause });
  };
}

/** A path is served by nothing also where its plugin cannot be loaded, which whoever has just saved it wants to hear. */
function withProblem(
  error: GatewayError,
  url: string | undefined,
  folders: readonly string[],
  problems: readonly PluginProblem[],
): GatewayError {
  const path = url?.split('?')[0];
  const own = problems.find(({ file }) =>
    folders.some((folder) => file.replace(/(?:\/index)?\.(?:[cm]?js|m?ts)$/, '') === `${folder}${path}`),
  );
  if (own === undefined) return error;
  const reason = own.reason.split('\n').join('; ');
  return new GatewayError('not_found', { message: `${own.file} cannot be served: ${reason}` });
}

function isFromHere({
  headers,
  socket: { remoteAddress = '' },
}: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return isLoopbackAddress(remoteAddress);
}

function wordsOf({ name, message, causes = [] }: Thrown): string {
  const own = name === undefined ? message : `${name}: ${message}`;
  return [own, ...causes.map(wordsOf)].join('; caused by ');
}

/** The plugin's first frame: those of the gateway and of packages help nobody. */
function placeOf({ stack = '' }: Thrown, folders: readonly string[]): string | undefined {
  // Node names a module by where links lead to.
  const roots = folders.flatMap((folder) => (existsSync(folder) ? [folder, realpathSync(folder)] : [folder]));
  for (const line of stack.split('\n')) {
    const [, file, place] = /(file:\/\/[^)\s]+?):(\d+:\d+)\)?$/.exec(line) ?? [];
    const isPlugins = roots.some((folder) => file?.startsWith(`${pathToFileURL(folder).href}/`));
    if (file && isPlugins && !file.includes('/node_modules/')) return `${fileURLToPath(file)}:${place}`;
  }
  return undefined;
}
