import { type Logger, pino } from 'pino';
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
  return pino({ level }, writeByTurn(pino.destination({ dest: 1, sync: true })));
}

/** The log as JSON lines on standard error, where standard output is for something else. */
export function openStderrLog(level: string): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}
