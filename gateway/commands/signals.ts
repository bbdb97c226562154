import type { Logger } from 'pino';
import type { Gateway } from '../gateway.js';

/** npm passes on a Ctrl-C that the terminal has sent to the gateway too: that is one signal and not two. */
const echoMs = 500;

/**
 * Closes the gateway in order at SIGTERM and SIGINT; a second signal ends the process at once. SIGTERM comes from what
 * manages processes, and balancers may send calls here still: these are told first. SIGINT is a person who waits.
 */
export function closeOnSignal(gateway: Gateway, logger: Logger): void {
  let closingSince: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (closingSince !== undefined) {
      if (performance.now() - closingSince > echoMs) process.exit(1);
      return;
    }
    closingSince = performance.now();
    logger.info({ signal }, 'shutting down');
    try {
      if (signal === 'SIGTERM') await gateway.drain();
      await gateway.close();
      process.exitCode = 0;
    } catch (error) {
      logger.error({ err: error }, 'shutdown was not clean');
      process.exitCode = 1;
    }
    process.exit();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
