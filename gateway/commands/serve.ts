import type { Command } from 'commander';
import { describeStart, greeting } from './greeting.js';
import { runUntilTold } from './run-until-told.js';

/** `serve`: runs the gateway until it is told to stop. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('Run the gateway (also what no command at all does).')
    .option('--json', 'print what was started, and the log, as JSON')
    .action(({ json = false }: { json?: boolean }) =>
      runUntilTold(json, {
        start: async (config, logger, member) =>
          (await import('../gateway.js')).startGateway(config, logger, { member }),
        describe: describeStart,
        greeting,
        ports: ({ url, connectUrl }) => ({ api: url, site: connectUrl }),
      }),
    );
}
