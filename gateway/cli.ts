import { Command } from 'commander';
import { mapStackTraces } from '../pool/thread-settings.js';
import { hasServerOption } from './commands/call/words.js';
import { registerCompletion } from './commands/completion.js';
import { registerDev } from './commands/dev.js';
import { registerKeyCommands } from './commands/keys.js';
import { registerMcp } from './commands/mcp.js';
import type { OpenKeys } from './commands/open.js';
import {
  answer,
  failureText,
  type JsonOption,
  jsonOption,
  processTerminal,
  type Terminal,
  usageErrors,
} from './commands/output.js';
import { registerPluginCommands } from './commands/plugins/register.js';
import { ignoreClosedPipe, reserveStdout } from './commands/process.js';
import { registerServe, registerWork } from './commands/serve.js';
import { registerSign } from './commands/sign.js';
import { registerOperatorCommands, registerTenantCommands } from './commands/tenants.js';
import { version } from './plugins/paths.js';

mapStackTraces();
for (const stream of [process.stdout, process.stderr]) ignoreClosedPipe(stream);

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

/** `call SERVICE`: calls a helper in this process, without a server, a database or a key; or one of a gateway that is named. */
export function registerCall(program: Command): void {
  program
    .command('call')
    .description('Call a helper, here or by --server URL: its parameters as options, its files as arguments.')
    .argument('[words...]', 'the helper, its parameters (--name value) and files')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // Only here: help is shown before they are loaded.
      if (hasServerOption(words)) await (await import('./commands/call/call-there.js')).callOnServer(words);
      else await (await import('./commands/call/call-here.js')).callLocally(words);
    });
}

/** `openapi`: prints the document that a gateway with this environment would serve, without starting one. */
export function registerOpenApi(program: Command, terminal: Terminal): void {
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document of all helpers.')
    .option(...jsonOption)
    .action(async ({ json }: JsonOption) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      // Only here: help is shown before it is loaded.
      const { describeHelpers } = await import('./commands/describe-helpers.js');
      await answer(quiet, json === true, () => describeHelpers(process.env));
    });
}
