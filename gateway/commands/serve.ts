import type { Command } from 'commander';
import { describeStart, greeting } from './greeting.js';
import { reserveStdout } from './reserve-stdout.js';
import { closeOnSignal, reloadOnHangup } from './signals.js';

/** `serve`: runs the gateway until it is told to stop. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('Run the gateway (also what no command at all does).')
    .option('--json', 'print what was started, and the log, as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      // Only here and below: help, and each other command, is there before these are loaded.
      const { loadConfig } = await import('../config.js');
      const { openJsonLog, openLog } = await import('./open-log.js');
      const config = loadConfig(process.env);
      const level = config.logLevel;
      const logger = json ? openJsonLog(level) : await openLog(level, process.stdout);
      // Programs read what is printed with --json; plugins print what they like, on any thread.
      const stdout = json ? reserveStdout() : process.stdout;
      const { startGateway } = await import('../gateway.js');
      const starting = startGateway(config, logger);
      reloadOnHangup(starting, logger);
      const gateway = await starting;
      // First, for whoever reads the next line may send a signal at once.
      closeOnSignal(gateway, logger);
      const started = json
        ? JSON.stringify({ ok: true, data: describeStart(gateway) })
        : greeting(gateway, config);
      stdout.write(`${started}\n`);
    });
}
