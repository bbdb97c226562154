import { createRequire } from 'node:module';
import { Command } from 'commander';
import { outliveReader } from './commands/closed-pipe.js';
import { registerKeyCommands } from './commands/keys.js';
import { registerOperatorCommands } from './commands/operator.js';
import { processTerminal, usageErrors } from './commands/output.js';
import { registerPluginCommands } from './commands/plugins.js';
import { registerServe } from './commands/serve.js';
import { registerTenantCommands } from './commands/tenants.js';

const { version } = createRequire(import.meta.url)('helper-gateway/package.json') as { version: string };

for (const stream of [process.stdout, process.stderr]) outliveReader(stream);

const program = usageErrors(new Command('helper-gateway'), processTerminal)
  .description('A self-hosted gateway for small text and image helpers')
  .version(version)
  .showHelpAfterError('(--help lists what there is)');

/** What opens the database is loaded by the commands that need it: help comes at once. */
const opening = () => import('./commands/open-admin.js');
const openAdmin = async () => (await opening()).openAdmin();

registerServe(program);
registerTenantCommands(program, openAdmin);
registerKeyCommands(program, openAdmin);
registerOperatorCommands(program, async () => (await opening()).openOperators(), processTerminal);
registerPluginCommands(program, processTerminal);

try {
  await program.parseAsync();
} catch (error) {
  // What stops a start is for the operator to mend, and its message says how; a stack is for what nobody foresaw.
  const foreseen = error instanceof Error && !/^(Type|Reference|Range|Syntax)Error$/.test(error.name);
  console.error(foreseen ? `helper-gateway: ${error.message}` : error);
  process.exitCode = 1;
}
