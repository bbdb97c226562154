import { type Logger, pino } from 'pino';
import type { LogScreen } from './readable-log.js';

/** Opens the log on standard output: lines for people on a terminal, JSON for what collects logs. */
export async function openLog(level: string, stdout: LogScreen & { isTTY?: boolean }): Promise<Logger> {
  if (!stdout.isTTY) return pino({ level });
  // Only here, as most gateways never need it.
  const { readableLog } = await import('./readable-log.js');
  return pino({ level }, readableLog(stdout));
}
