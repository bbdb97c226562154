import type { Logger } from 'pino';
import type { ReloadReport } from './reload.js';

/** Tells a reload to the log of a gateway that serves: what changed, and a line for each file that could not be loaded. */
export function logReload(logger: Pick<Logger, 'info' | 'warn' | 'error'>): (report: ReloadReport) => void {
  return ({ added, reloaded, removed, problems, skipped, ms }) => {
    for (const { file, reason } of skipped) logger.warn({ file, reason }, 'plugin file skipped');
    for (const { file, reason } of problems) {
      logger.error({ file, reason }, 'plugin cannot be loaded; what was served of it before still is');
    }
    const changes = { added, reloaded, removed, failed: problems.length };
    logger.info({ ...changes, ms: Math.round(ms) }, 'plugins reloaded');
  };
}
