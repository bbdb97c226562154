import { expect } from 'chai';
import { Command } from 'commander';
import { completeCommand, placeOf } from '../../../gateway/commands/completion.js';
import { fixture } from '../../fixtures.js';
import { codesIn, readText, rowsOf } from '../../readme.js';
import { documentOf } from '../docs/openapi/document-of.js';
import { runCommand } from '../harness.js';

// A start that a bad variable ends at once: which command ran is all that matters here.
const env = { HELPER_POOL_THREADS: '-1' };

describe('the command line', function () {
  this.timeout(30_000);
  for (const [args, exit, said] of [
    ['', 1, 'HELPER_POOL_THREADS'],
    ['--json', 1, 'HELPER_POOL_THREADS'],
    ['plugin', 2, "unknown command 'plugin'\n(Did you mean plugins?)"],
    ['--jsn', 2, "unknown option '--jsn'"],
  ] as const) {
    it(`serves, or says what is unknown: ${args || 'no command at all'}`, async () => {
      const { code, stdout, stderr } = await runCommand(args.split(' ').filter(Boolean), env);
      expect([code, stdout, stderr.includes(said)]).to.deep.equal([exit, '', true]);
    });
  }
});

let reading: Promise<Command> | undefined;

/** The command line as `cli.ts` puts it together, caught in the moment in which it would run. */
function readProgram(): Promise<Command> {
  reading ??= catchProgram();
  return reading;
}

async function catchProgram(): Promise<Command> {
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
  const visible = command.createHelp().visibleCommands(command);
  const shown = visible.filter((inner) => inner.name() !== 'help');
  if (shown.length > 0) return shown.flatMap((inner) => commandsOf(inner, [...path, inner.name()]));
  const operands = command.registeredArguments.map((argument) => argument.name().toUpperCase());
  const options = command.options.map(({ long }) => long).sort();
  return [[...path, ...operands, ...options].join(' ')];
}

describe('the commands', function () {
  this.timeout(30_000);
  it('stand in gateway/commands/README with their arguments and options, and no others', async () => {
    const rows = rowsOf(readText('gateway/commands/README.md'));
    const documented = rows
      .filter(([command]) => command?.startsWith('`'))
      .map(([command, options]) => [...codesIn(command), ...codesIn(options).sort()].join(' '));
    expect(documented).to.have.members(commandsOf(await readProgram()));
  });

  it('are completed by the shell, each with its options, and files where a file is wanted', async () => {
    const program = await readProgram();
    const complete = (...words: string[]) =>
      completeCommand(placeOf(program, words.slice(0, -1)), words.at(-1) ?? '');
    const values = (...words: string[]) => complete(...words).candidates.map(({ value }) => value);
    const visible = program.createHelp().visibleCommands(program);
    expect(values('')).to.deep.equal(visible.map((each) => each.name()));
    expect(values('apply', '--')).to.include.members(['--file', '--dry-run', '--json']);
    expect(complete('apply', '--file', '').rest).to.equal('files');
  });

  it('openapi prints what a gateway with these plugins would serve, and nothing else', async () => {
    const folders = ['openapi', 'printing'].map((name) => fixture(`plugins/${name}`));
    const env = { HELPER_PLUGINS: folders.join(':'), HELPER_API_URL: 'https://api.example.com' };
    const { code, stdout } = await runCommand(['openapi'], env);
    expect(code).to.equal(0);
    const printed = JSON.parse(stdout);
    // Not loaded here, as one of these prints while it is.
    const { document } = await documentOf(folders.slice(0, 1));
    expect(printed.paths).to.include.keys('/prints', ...Object.keys(document.paths));
    expect(printed.paths['/nasty']).to.deep.equal(JSON.parse(JSON.stringify(document.paths['/nasty'])));
    expect(printed.servers).to.deep.equal([{ url: 'https://api.example.com' }]);
  });

  it('openapi says which plugin cannot be described', async () => {
    const env = { HELPER_PLUGINS: fixture('plugins/bad/schema') };
    const { code, stdout } = await runCommand(['openapi', '--json'], env);
    expect(code).to.equal(1);
    expect(JSON.parse(stdout).error.details[0].field).to.match(/broken\.js$/);
  });
});
