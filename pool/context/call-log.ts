import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { readThrown } from '../thrown.js';
import type { CallIds, LogParts } from './log-parts.js';
import type { Redactor } from './secrets.js';

/** A handler's log: pino's methods. */
export type CallLog = Logger;

/** Lines that a call may write, and characters of one. */
const mostLines = 1_000;
const mostCharacters = 16_384;

let pino: typeof import('pino').pino | undefined;

/** The log of one call. Made when a handler first asks for it: to load what it is made of takes a thread some 30 ms, once. */
export function createCallLog(
  { service, request_id }: CallIds,
  { logLevel: level, write }: LogParts,
  redactor?: Redactor,
): CallLog {
  pino ??= createRequire(import.meta.url)('pino') as typeof import('pino').pino;
  let lines = 0;

  function send(text: string): void {
    lines += 1;
    if (lines > mostLines + 1) return;
    const line =
      lines > mostLines ? asLine(40, `the call wrote more than ${mostLines} lines; no more are kept`) : text;
    write({ service, request_id, text: redactor ? hide(line, redactor) : line });
  }

  const options = {
    level,
    base: null,
    timestamp: false,
    serializers: { err: (error: unknown) => (error instanceof Error ? readThrown(error) : error) },
    hooks: {
      /** What is given may throw where it is read: that must not be the handler's fault. */
      logMethod(this: Logger, given: Parameters<Logger['info']>, method: Logger['info']): void {
        try {
          method.apply(this, given);
        } catch (error) {
          method.call(this, 'a line was given that cannot be written: %s', readThrown(error).message);
        }
      },
    },
  };
  return pino(options, {
    write(written: string) {
      const text = written.trimEnd();
      send(text.length > mostCharacters ? cut(text) : text);
    },
  });
}

/** A secret may be what JSON is made of, such as `true`: without it the line is none any more. */
function hide(line: string, redactor: Redactor): string {
  const hidden = redactor.text(line);
  if (hidden === line) return line;
  try {
    JSON.parse(hidden);
    return hidden;
  } catch {
    return asLine(40, 'a line was left out: what it held beside a secret cannot be told apart');
  }
}

/** The beginning of a line as text: cut, it is no JSON any more. */
function cut(text: string): string {
  const level = Number(/^\{"level":(\d+)/.exec(text)?.[1] ?? 30);
  return JSON.stringify({
    level,
    msg: `a line of ${text.length} characters, of which the first ${mostCharacters} follow`,
    line: text.slice(0, mostCharacters),
  });
}

function asLine(level: number, msg: string): string {
  return JSON.stringify({ level, msg });
}
