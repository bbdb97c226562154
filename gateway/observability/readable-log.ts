import { fileURLToPath } from 'node:url';
import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { describeThrown, type Thrown } from '../../pool/errors.js';
import { visible } from '../../schemas/quote.js';

export interface LogScreen {
  write(text: string): unknown;
  /** False with `NO_COLOR`, too. */
  hasColors(): boolean;
}

type Entry = Record<string, unknown>;

/** Writes each entry as a line for people. Text from outside cannot move the cursor or colour the screen. */
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
      const { err, ...rest } = shown;
      if (!isHelperFault(err)) screen.write(prettify(shown));
      else screen.write(`${[prettify(rest).trimEnd(), ...faultLines(err)].join('\n    ')}\n`);
    },
  };
}

/** Also names of fields, which plugins choose. */
function visibleValue(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [visible(name), each]));
}

/** An answered call, reduced to what people look for. */
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
    // Callers report faults by this id.
    failed ? request_id : undefined,
  ];
  const msg = words.filter((word) => word !== undefined).join(' ');
  return failed ? { level, time, msg, err } : { level, time, msg };
}

/** The folders of the gateway's own modules, without the shipped plugins. */
const own = ['gateway/', 'pool/', 'schemas/', 'dist/'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.resolve('helper-gateway/package.json'))),
);

/** Whether an entry's error is a helper's: what it threw, or what happened to its thread. */
function isHelperFault(err: unknown): err is Thrown {
  const { ok, name } = (err ?? {}) as { ok?: unknown; name?: unknown };
  return ok === false || name === 'PoolError';
}

/** What a helper has thrown, as lines for its author: message and causes, with the frames of its own code alone. */
function faultLines(fault: Thrown): string[] {
  // Only an Error has a stack.
  const hint = fault.name || fault.stack ? '' : ' (no Error was thrown, so its place is not known)';
  // A log entry has an empty stack where there was none.
  const text = describeThrown({ ...fault, stack: fault.stack || undefined } as Thrown);
  return `${text}${hint}`.split('\n').filter((line) => !isGatewayFrame(line));
}

function isGatewayFrame(line: string): boolean {
  if (!/^\s+at /.test(line)) return false;
  if (/[( ]node:|\/node_modules\/piscina\//.test(line)) return true;
  if (/\bnew Promise \(<anonymous>\)|\bAsyncLocalStorage\.run \(/.test(line)) return true;
  return own.some((folder) => line.includes(folder)) && !line.includes('/dist/bundle/plugins/');
}
