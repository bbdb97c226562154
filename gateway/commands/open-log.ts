import { type Logger, pino } from 'pino';
import { visibleJson } from '../../schemas/quote.js';
import type { LogScreen } from './readable-log.js';
import { writeByTurn } from './write-by-turn.js';

/** Opens the log on standard output: lines for people on a terminal, JSON for what collects logs. */
export async function openLog(level: string, stdout: LogScreen & { isTTY?: boolean }): Promise<Logger> {
  if (!stdout.isTTY) return openJsonLog(level);
  // Only here, as most gateways never need it.
  const { readableLog } = await import('./readable-log.js');
  return pino({ level }, readableLog(stdout));
}

/** The log as JSON lines on standard output, whatever that is. */
export function openJsonLog(level: string): Logger {
  // Written to at once; pino ends it quietly where its reader has gone.
  return pino({ level }, writeByTurn(jsonLines(1, process.stdout.isTTY)));
}

/** The log as JSON lines on standard error, where standard output is for something else. */
export function openStderrLog(level: string): Logger {
  return pino({ level }, jsonLines(2, process.stderr.isTTY));
}

/** What came from outside stands in the log, and must not control a terminal. */
function jsonLines(dest: 1 | 2, isTTY: boolean): { write(text: string): unknown } {
  const destination = pino.destination({ dest, sync: true });
  return isTTY ? { write: (text) => destination.write(visibleJson(text)) } : destination;
}
