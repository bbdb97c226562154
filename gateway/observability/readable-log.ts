import { fileURLToPath } from 'node:url';
import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { describeThrown, type Thrown } from '../../pool/errors.js';
import { visible } from '../../schemas/quote.js';

/** A terminal, as far as a log needs it. */
export interface LogScreen {
  write(text: string): unknown;
  /** Also says no where the environment has `NO_COLOR`. */
  hasColors(): boolean;
}

type Entry = Record<string, unknown>;

/**
 * Writes each entry as a line for people: the time, the level, and of a call its path, status, time and tenant. Faults keep
 * their stack, those of a helper the frames that are its own. What came from outside cannot move the cursor or colour the screen.
 */
export function readableLog(screen: LogScreen): DestinationStream {
  const prettify = prettyFactory({
    colorize: screen.hasColors(),
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    singleLine: true,
  });
  return {
    write(line) {
      const entry = JSON.parse(line, (_, value) => visibleValue(value));
      const shown = 'method' in entry ? shortCall(entry) : entry;
      screen.write(isHelperFault(shown.err) ? withFault(shown, shown.err, prettify) : prettify(shown));
    },
  };
}

/** A plugin chooses names of fields too. */
function visibleValue(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [visible(name), each]));
}

function withFault({ err: _, ...entry }: Entry, fault: Thrown, prettify: (entry: Entry) => string): string {
  return [prettify(entry).trimEnd(), ...faultLines(fault)].join('\n    ').concat('\n');
}

/** An answered call, from which people are spared all but what they look for. */
function shortCall(entry: Entry): Entry {
  const { level, time, err, method, path, route, status, code, ms, tenant, dryrun, request_id } = entry;
  const failed = err !== undefined;
  const words = [
    route === undefined ? undefined : 'site',
    method,
    path ?? route,
    status,
    code,
    `${ms} ms`,
    tenant,
    dryrun === true ? 'dry run' : undefined,
    // Whoever asks about a fault knows the call by this.
    failed ? request_id : undefined,
  ];
  const msg = words.filter((word) => word !== undefined).join(' ');
  return failed ? { level, time, msg, err } : { level, time, msg };
}

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
