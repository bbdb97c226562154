import type { Command } from 'commander';
import { type OpenKeys, withKeys } from './open.js';
import { type JsonOption, jsonOption, type Terminal } from './output.js';

/** Adds `signing-secret` and `rotate-signing` to `keys`. */
export function registerSigning(keys: Command, open: OpenKeys, terminal: Terminal): void {
  keys
    .command('signing-secret')
    .description('Show what signs urls for a key. The secret is the last line on stdout, alone.')
    .argument('<id>', 'from keys list')
    .option(...jsonOption)
    .action((id: string, { json }: JsonOption) =>
      withKeys(open, terminal, { json: json === true, signs: true }, async (admin, actor) => {
        const shown = await admin.signingSecret(id, actor);
        return {
          data: { ...shown },
          notes: [`The signing secret of ${id}. Whoever has it calls helpers as this key:`],
          result: shown.signing_secret,
        };
      }),
    );

  keys
    .command('rotate-signing')
    .description('Give a key a new signing secret, the last line on stdout; urls signed before end.')
    .argument('<id>', 'from keys list')
    .option(...jsonOption)
    .action((id: string, { json }: JsonOption) =>
      withKeys(open, terminal, { json: json === true, signs: true }, async (admin, actor) => {
        const rotated = await admin.rotateSigning(id, actor);
        const ended = `Running gateways refuse urls that were signed before within 5 seconds; the key itself stays as it is.`;
        return {
          data: { ...rotated },
          notes: [`The new signing secret of ${id}. ${ended}`],
          result: rotated.signing_secret,
        };
      }),
    );
}
