import type { Command } from 'commander';
import { answer, type JsonOption, jsonOption, type Terminal } from './output.js';
import { reserveStdout } from './reserve-stdout.js';

/** `openapi`: prints the document that a gateway with this environment would serve, without starting one. */
export function registerOpenApi(program: Command, terminal: Terminal): void {
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document of all helpers.')
    .option(...jsonOption)
    .action(async ({ json }: JsonOption) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      // Only here: help is shown before it is loaded.
      const { describeHelpers } = await import('./describe-helpers.js');
      await answer(quiet, json === true, () => describeHelpers(process.env));
    });
}
