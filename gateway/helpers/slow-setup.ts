import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';

/** Tells of a helper whose plugin, at this url, is not set up yet. */
export type SlowSetupNotice = (service: string, url: string) => void;

/** Says of a plugin, once, that a start waits for its `setup`: it has no deadline, and nothing else would tell. */
export function createSlowSetupNotice(logger: Pick<Logger, 'warn'>): SlowSetupNotice {
  const told = new Set<string>();
  return function tell(service, url) {
    if (told.has(service)) return;
    told.add(service);
    logger.warn({ service, file: fileURLToPath(url) }, 'still waiting for the setup of a plugin');
  };
}
