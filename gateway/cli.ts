import { Command } from 'commander';
import { nameSources } from '../pool/source-stacks.js';
import { registerCall } from './commands/call/register.js';
import { outliveReader } from './commands/closed-pipe.js';
import { registerCompletion } from './commands/completion/register.js';
import { registerDev } from './commands/dev.js';
import { registerKeyCommands } from './commands/keys.js';
import { registerMcp } from './commands/mcp.js';
import type { OpenKeys } from './commands/open.js';
import { registerOpenApi } from './commands/openapi.js';
import { registerOperatorCommands } from './commands/operator.js';
import { failureText, processTerminal, usageErrors } from './commands/output.js';
import { registerPluginCommands } from './commands/plugins/register.js';
import { registerServe } from './commands/serve.js';
import { registerSign } from './commands/sign.js';
import { registerTenantCommands } from './commands/tenants.js';
import { registerWork } from './commands/work.js';
import { version } from './helpers/version.js';

nameSources();
for (const stream of [process.stdout, process.stderr]) outliveReader(stream);

const program = usageErrors(new Command('helper-gateway'), processTerminal)
  .description('A self-hosted gateway for small text and image helpers.')
  .helpCommand('help [command]', 'Show the help of a command.')
  .version(version)
  // What stands behind `call SERVICE` is the helper's: its parameters may be called as our own options are.
  .enablePositionalOptions()
  .showHelpAfterError('(--help lists what there is)');

/** What opens the database is loaded by the commands that need it: help comes at once. */
const opening = () => import('./commands/open-admin.js');
const openAdmin: OpenKeys = async (options) => (await opening()).openAdmin(options);

registerServe(program);
registerWork(program);
registerDev(program);
registerTenantCommands(program, openAdmin);
registerKeyCommands(program, openAdmin);
registerSign(program, openAdmin, processTerminal);
registerOperatorCommands(program, async () => (await opening()).openOperators(), processTerminal);
registerCall(program);
registerPluginCommands(program, processTerminal);
registerOpenApi(program, processTerminal);
registerMcp(program);
registerCompletion(program, processTerminal);

// Without a command it serves: that is what "npx ./helper-gateway-….tgz" is for in an empty folder.
const given = process.argv.slice(2);
const serves = given.every((argument) => argument === '--json');

try {
  await program.parseAsync(serves ? ['serve', ...given] : given, { from: 'user' });
} catch (error) {
  console.error(failureText(error));
  process.exitCode = 1;
  // The channel to a supervisor must not keep what has failed to start.
  process.channel?.unref();
}
