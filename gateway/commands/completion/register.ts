import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Argument, type Command } from 'commander';
import { calledAs } from '../called-as.js';
import type { Terminal } from '../output.js';
import { reserveStdout } from '../reserve-stdout.js';
import { asLines, type Completion, nothing } from './candidates.js';
import { completeCommand, placeOf } from './complete-command.js';
import { type Shell, scriptOf, shells } from './scripts.js';

const bin = fileURLToPath(new URL('gateway/bin.cjs', import.meta.resolve('helper-gateway/package.json')));

/** `completion SHELL`, and what its scripts ask: `complete -- WORDS…`, of which the last is being typed. */
export function registerCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('Print a script by which a shell completes commands, helpers, parameters and files.')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: Shell) => {
      terminal.stdout.write(scriptOf(shell, { node: process.execPath, bin, command: calledAs() }));
    });
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // A person is in the midst of typing: nothing is said but candidates, whatever a plugin prints or fails with.
      reserveStdout();
      const completion = await complete(program, words).catch(() => nothing);
      writeSync(1, asLines(completion));
      process.exit(0);
    });
}

async function complete(program: Command, words: readonly string[]): Promise<Completion> {
  const place = placeOf(program, words.slice(0, -1));
  const typed = words.at(-1) ?? '';
  if (place.command.name() !== 'call') return completeCommand(place, typed);
  const { completeCall } = await import('./complete-call.js');
  const { findHelpers } = await import('./find-helpers.js');
  const { loadConfig } = await import('../../config.js');
  return completeCall(place.before, typed, findHelpers(loadConfig(process.env).pluginDirs));
}
