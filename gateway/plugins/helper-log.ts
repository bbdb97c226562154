import type { Logger } from 'pino';
import type { LogLine } from '../../pool/context/messages.js';

/** Names of pino's levels, whose numbers are 10 to 60. */
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** The name of a line's level; `info` for any that pino does not have. */
export function levelName(level: unknown): (typeof levels)[number] {
  return levels[Number(level) / 10 - 1] ?? 'info';
}

/**
 * Writes the handlers' log lines, from any thread, to the gateway's own log. The call's fields cannot be overwritten by a handler.
 */
export function createHelperLog(logger: Logger): (line: LogLine) => void {
  return function log({ service, request_id, text }) {
    const { level, msg, time: _time, ...fields } = read(text);
    const write = levelName(level);
    const line = { ...fields, service, request_id };
    if (msg === undefined) logger[write](line);
    // As a value, because it is formatted already.
    else logger[write](line, '%s', msg);
  };
}

/** A line that is not JSON must not end the main thread. */
function read(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return { level: 40, msg: 'a helper wrote a line that cannot be read' };
  }
}
