import type { Command } from 'commander';
import { runUntilTold } from './run-until-told.js';
import { describeWork, workGreeting } from './work-greeting.js';

/** `work`: works on the gateways' jobs until it is told to stop. */
export function registerWork(program: Command): void {
  program
    .command('work')
    .description(
      'Work on jobs with the whole pool; needs the same DATABASE_URL and REDIS_URL (or data folder) as the gateways.',
    )
    .option('--json', 'print what was started, and the log, as JSON')
    .action(({ json = false }: { json?: boolean }) =>
      runUntilTold(json, {
        start: async (config, logger, member) =>
          (await import('../worker.js')).startWorker(config, logger, { member }),
        describe: describeWork,
        greeting: workGreeting,
        ports: () => ({}),
      }),
    );
}
