import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Thrown } from '../../pool/thrown.js';
import { visible } from '../../schemas/quote.js';
import { faultLines, isHelperFault } from './fault-lines.js';

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
