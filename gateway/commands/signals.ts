import type { EventEmitter } from 'node:events';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import type { Gateway } from '../gateway.js';

/** npm passes on a Ctrl-C that the terminal has sent to the gateway too: that is one signal and not two. */
const echoMs = 500;

/**
 * Closes the gateway in order at SIGTERM and SIGINT; a second signal ends the process at once. SIGTERM comes from what
 * manages processes, and balancers may send calls here still: these are told first. SIGINT is a person who waits. Where several
 * processes serve, `signals` is what the one that started them passes on.
 */
export function closeOnSignal(
  gateway: Pick<Gateway, 'drain' | 'close'>,
  logger: Logger,
  signals: EventEmitter = process,
): void {
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
  signals.on('SIGTERM', stop);
  signals.on('SIGINT', stop);
}

/**
 * Loads the helpers anew at SIGHUP, from now on: one that comes before the gateway serves waits for that, and must not end it. A
 * terminal that is closed sends the same signal, and means the end: it is gone then. Windows knows no other.
 */
export function reloadOnHangup(
  starting: Promise<Pick<Gateway, 'reload' | 'close'>>,
  logger: Pick<Logger, 'info'>,
  signals: EventEmitter = process,
): void {
  if (process.platform === 'win32') return;
  const terminal = [0, 1, 2].find((fd) => isatty(fd));
  const onHangup = async () => {
    const isGone = terminal !== undefined && !isatty(terminal);
    // Why it could not start is told by whoever starts it.
    const gateway = await starting.catch(() => undefined);
    if (!isGone) {
      logger.info('reloading plugins');
      await gateway?.reload();
      return;
    }
    await gateway?.close().catch(() => undefined);
    // By the signal's own way: where the terminal is gone, Node cannot put it back as it was, and would abort at its exit.
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  };
  signals.on('SIGHUP', onHangup);
}
