import { Command } from 'commander';
import { registerKeyCommands } from './commands/keys.js';
import { openAdmin } from './commands/open-admin.js';
import { registerPluginCommands } from './commands/plugins.js';
import { registerServe } from './commands/serve.js';
import { registerTenantCommands } from './commands/tenants.js';

const program = new Command('helper-gateway')
  .description('A self-hosted gateway for small text and image helpers')
  .showHelpAfterError('(--help lists what there is)');

registerServe(program);
registerTenantCommands(program, openAdmin);
registerKeyCommands(program, openAdmin);
registerPluginCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  // What stops a start is for the operator to mend: the message says what, a stack would only hide it.
  const known = error instanceof Error && ['ConfigError', 'PluginError', 'StartError'].includes(error.name);
  console.error(known ? `helper-gateway: ${error.message}` : error);
  process.exitCode = 1;
}
