import type { Logger } from 'pino';
import type { Gateway } from '../gateway.js';

/** Closes the gateway in order at SIGTERM and SIGINT; a second signal ends the process at once. */
export function closeOnSignal(gateway: Gateway, logger: Logger): void {
  let closing = false;
  const stop = async (signal: NodeJS.Signals) => {
    if (closing) process.exit(1);
    closing = true;
    logger.info({ signal }, 'shutting down');
    try {
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
