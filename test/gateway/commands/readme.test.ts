import { expect } from 'chai';
import { Command } from 'commander';
import { codesIn, readText, rowsOf } from '../../readme.js';

/** The command line as `cli.ts` puts it together, caught in the moment in which it would run. */
async function readProgram(): Promise<Command> {
  const run = Command.prototype.parseAsync;
  let program: Command | undefined;
  Command.prototype.parseAsync = async function caught() {
    program = this;
    return this;
  };
  try {
    await import('../../../gateway/cli.js');
  } finally {
    Command.prototype.parseAsync = run;
  }
  if (!program) throw new Error('cli.ts was imported before, and has run');
  return program;
}

function commandsOf(command: Command, path: string[] = []): string[] {
  // What is hidden is asked by the shells' own scripts.
  const shown = command
    .createHelp()
    .visibleCommands(command)
    .filter((inner) => inner.name() !== 'help');
  if (shown.length > 0) {
    return shown.flatMap((inner) => commandsOf(inner, [...path, inner.name()]));
  }
  const takes = command.registeredArguments.map((argument) => argument.name().toUpperCase());
  const options = command.options.map(({ long }) => long).sort();
  return [[...path, ...takes, ...options].join(' ')];
}

describe('gateway/commands/README', () => {
  it('names every command with its arguments and options, and no other', async () => {
    const rows = rowsOf(readText('gateway/commands/README.md'));
    const documented = rows
      .filter(([command]) => command?.startsWith('`'))
      .map(([command, options]) => [...codesIn(command), ...codesIn(options).sort()].join(' '));
    expect(documented).to.have.members(commandsOf(await readProgram()));
  });
});
