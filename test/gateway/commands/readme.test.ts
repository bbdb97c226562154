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

/** What stands beside each command in a list of them, by its words. */
function sentencesOf(command: Command, path: string[] = []): [string, string][] {
  const help = command.createHelp();
  return help.visibleCommands(command).flatMap((inner) => {
    const own = [...path, inner.name()];
    return [[own.join(' '), help.subcommandDescription(inner)], ...sentencesOf(inner, own)];
  });
}

describe('the commands', () => {
  let program: Command;
  before(async () => {
    program = await readProgram();
  });

  it('stand in gateway/commands/README with their arguments and options, and no others', () => {
    const rows = rowsOf(readText('gateway/commands/README.md'));
    const documented = rows
      .filter(([command]) => command?.startsWith('`'))
      .map(([command, options]) => [...codesIn(command), ...codesIn(options).sort()].join(' '));
    expect(documented).to.have.members(commandsOf(program));
  });

  it('say in sentences what they do', () => {
    const odd = sentencesOf(program).filter(([, told]) => !/^[A-Z].*\.$/.test(told));
    expect(odd).to.deep.equal([]);
  });
});
