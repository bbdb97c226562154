import { writeSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { mapStackTraces } from '../pool/thread-settings.js';
import { visibleJson } from '../schemas/quote.js';
import { registerAccessCommands } from './commands/access.js';
import { registerApply } from './commands/apply.js';
import { hasServerOption } from './commands/call/words.js';
import {
  asLines,
  type Completion,
  completeCommand,
  nothing,
  placeOf,
  scriptOf,
} from './commands/completion.js';
import { registerDev } from './commands/dev.js';
import { registerDoctor } from './commands/doctor.js';
import { registerKeyCommands } from './commands/keys.js';
import { registerMcp } from './commands/mcp.js';
import type { OpenKeys } from './commands/open.js';
import {
  answer,
  failureText,
  type JsonOption,
  jsonOption,
  processTerminal,
  usageErrors,
} from './commands/output.js';
import { registerPlanCommands } from './commands/plans.js';
import { registerPluginCommands } from './commands/plugins/register.js';
import { exitSoon, ignoreClosedPipe, reserveStdout } from './commands/process.js';
import { registerRecipeCommands } from './commands/recipes.js';
import { registerRecordCommands } from './commands/records.js';
import { registerServe } from './commands/serve.js';
import { registerSign } from './commands/sign.js';
import { registerTenantCommands } from './commands/tenants.js';
import { builtinPlugins, version } from './plugins/paths.js';

mapStackTraces();
for (const stream of [process.stdout, process.stderr]) ignoreClosedPipe(stream);

const program = usageErrors(new Command('helper-gateway'), processTerminal)
  .description('A self-hosted gateway for small text and image helpers.')
  .version(version)
  // The words behind `call SERVICE` are the helper's: its parameters may have the names of our options.
  .enablePositionalOptions()
  .showHelpAfterError('(--help lists what there is)');

/** The database's modules are loaded only by commands that need them. */
const opening = () => import('./commands/open-admin.js');
const openAdmin: OpenKeys = async (options) => (await opening()).openAdmin(options);

// The help lists commands below the heading that stands before them.
program.commandsGroup('Serving:');
registerServe(program);
registerDev(program);
program.commandsGroup('Tenants and keys:');
registerTenantCommands(program, openAdmin, processTerminal);
registerKeyCommands(program, openAdmin, processTerminal);
registerPlanCommands(program, openAdmin, processTerminal);
registerRecipeCommands(program, openAdmin, processTerminal);
registerSign(program, openAdmin, processTerminal);
registerApply(program, openAdmin, processTerminal);
program.commandsGroup('Helpers:');
registerCall(program);
registerPluginCommands(program, processTerminal);
registerOpenApi(program);
registerMcp(program);
program.commandsGroup('Operations:');
registerDoctor(program, processTerminal);
registerRecordCommands(program, openAdmin, processTerminal);
registerAccessCommands(program, async () => (await opening()).openPeople(), processTerminal);
registerCompletion(program);
program.helpCommand('help [command]', 'Show the help of a command.');

// Without a command it serves, as `npx ./helper-gateway-….tgz` does in an empty folder.
const given = process.argv.slice(2);
const serves = given.every((argument) => argument === '--json');

try {
  await program.parseAsync(serves ? ['serve', ...given] : given, { from: 'user' });
} catch (error) {
  console.error(failureText(error));
  process.exitCode = 1;
  // The channel to a supervisor must not keep a failed start alive.
  process.channel?.unref();
}

/** `call SERVICE`: calls a helper in this process, or of the gateway that `--server` names. */
function registerCall(program: Command): void {
  program
    .command('call')
    .description('Call a helper, here or by --server URL: its parameters as options, its files as arguments.')
    .argument('[words...]', 'the helper, its parameters (--name value) and files')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // Imported here, so that help need not wait for them.
      if (hasServerOption(words)) await (await import('./commands/call/call-there.js')).callOnServer(words);
      else await (await import('./commands/call/call-here.js')).callLocally(words);
    });
}

/** `openapi`: prints the document of a gateway with this environment. */
function registerOpenApi(program: Command): void {
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document of all helpers.')
    .option(...jsonOption)
    .action(async ({ json }: JsonOption) => {
      const quiet = { ...processTerminal, stdout: reserveStdout() };
      await answer(quiet, json === true, async () => {
        const [{ loadConfig }, { openApiDocument }, { loadHelpers }] = await Promise.all([
          import('./config.js'),
          import('./docs/openapi/document.js'),
          import('./commands/plugins/check.js'),
        ]);
        const { pluginDirs, apiUrl } = loadConfig(process.env);
        const registry = await loadHelpers([builtinPlugins, ...pluginDirs]);
        const data = openApiDocument(registry, { version, serverUrl: apiUrl });
        return { data: { ...data }, result: visibleJson(JSON.stringify(data, null, 2)) };
      });
      exitSoon();
    });
}

/** `completion SHELL`, and what its scripts ask: `complete -- WORDS…`, of which the last is being typed. */
function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print a script by which a shell completes commands, helpers, parameters and files.')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action((shell: string) => void processTerminal.stdout.write(scriptOf(shell)));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // Only candidates may be printed while a person is typing, whatever a plugin prints or throws.
      reserveStdout();
      const completion = await complete(program, words).catch(() => nothing);
      writeSync(1, asLines(completion));
      process.exit(0);
    });
}

async function complete(program: Command, words: string[]): Promise<Completion> {
  const place = placeOf(program, words.slice(0, -1));
  const typed = words.at(-1) ?? '';
  if (place.command.name() !== 'call') return completeCommand(place, typed);
  const { completeCall, findHelpers } = await import('./commands/complete-call.js');
  const { loadConfig } = await import('./config.js');
  return completeCall(place.before, typed, findHelpers(loadConfig(process.env).pluginDirs));
}
