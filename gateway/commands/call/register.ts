import type { Command } from 'commander';

/** `call SERVICE`: calls a helper in this process, without a server, a database or a key. */
export function registerCall(program: Command): void {
  program
    .command('call')
    .description('Call a helper in this process: its parameters as options, its files as arguments.')
    .argument('[words...]', 'the helper, its parameters (--name value) and files')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // Only here: help is shown before it is loaded.
      const { callHere } = await import('./call-here.js');
      await callHere(words);
    });
}
