import { fileURLToPath } from 'node:url';
import { describeThrown, type Thrown } from '../../pool/thrown.js';

/** Where the gateway's own modules lie; a plugin that comes with it lies beside them, and is not meant. */
const own = ['gateway/', 'pool/', 'schemas/', 'dist/'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.resolve('helper-gateway/package.json'))),
);

/** A fault of a helper, as a log entry holds it: what was thrown, read in the thread where it ran, or what became of the thread. */
export function isHelperFault(err: unknown): err is Thrown {
  const { ok, name } = (err ?? {}) as { ok?: unknown; name?: unknown };
  return ok === false || name === 'PoolError';
}

/**
 * What a helper has thrown, as lines for its author: the message, the places in the helper and in what it uses, the causes. The
 * gateway's own frames, which come before and after, help nobody there.
 */
export function faultLines(fault: Thrown): string[] {
  // What is no Error knows no place.
  const hint = fault.name || fault.stack ? '' : ' (no Error was thrown, so nothing tells where)';
  // A log entry has an empty stack where there was none.
  const told = describeThrown({ ...fault, stack: fault.stack || undefined } as Thrown);
  return `${told}${hint}`.split('\n').filter((line) => !isGatewayFrame(line));
}

function isGatewayFrame(line: string): boolean {
  if (!/^\s+at /.test(line)) return false;
  if (/[( ]node:|\/node_modules\/piscina\//.test(line)) return true;
  if (/\bnew Promise \(<anonymous>\)|\bAsyncLocalStorage\.run \(/.test(line)) return true;
  return own.some((folder) => line.includes(folder)) && !line.includes('/dist/bundle/plugins/');
}
