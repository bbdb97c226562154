import type { Command } from 'commander';
import { namesServer } from './server/names-server.js';

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
      if (namesServer(words)) await (await import('./server/call-there.js')).callThere(words);
      else await (await import('./call-here.js')).callHere(words);
    });
}
