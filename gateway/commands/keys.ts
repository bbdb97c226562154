import { type Command, InvalidArgumentError } from 'commander';

import { rotationSchema } from '../keys/schemas.js';
import { allPages } from './all-pages.js';
import { calledAs } from './called-as.js';
import { parseDuration } from './duration.js';
import { registerIssue } from './issue.js';
import { keyTable } from './key-table.js';
import { type OpenKeys, withKeys } from './open.js';
import {
  type JsonOption,
  jsonOption,
  processTerminal,
  shownOnce,
  type Terminal,
  usageErrors,
} from './output.js';
import { registerSigning } from './signing.js';

const usualGrace = rotationSchema.properties.grace_seconds.default / 3600;

/** Adds `keys` and its commands to the program. */
export function registerKeyCommands(
  program: Command,
  open: OpenKeys,
  terminal: Terminal = processTerminal,
): void {
  const keys = program.command('keys').description('Issue, list, rotate and revoke keys.');
  usageErrors(keys, terminal);

  registerIssue(keys, open, terminal);
  registerSigning(keys, open, terminal);

  keys
    .command('list')
    .description('List the keys of a tenant, never the keys themselves.')
    .argument('<tenant>')
    .option(...jsonOption)
    .action((tenant: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const all = await allPages(async (after) => {
          const { keys: items, next } = await admin.listKeys(tenant, { after, limit: 1000 });
          return { items, next };
        });
        if (all.length > 0) return { data: { keys: all }, result: keyTable(all) };
        const hint = `${tenant} has no key yet. Issue one: ${calledAs()} keys issue ${tenant}`;
        return { data: { keys: all }, notes: [hint] };
      }),
    );

  keys
    .command('rotate')
    .description('Give a key a new secret. The new key is the last line on stdout, alone.')
    .argument('<id>', 'e.g. key_4fGhJ2kLm9Qr, from keys list')
    .option(
      '--grace <time>',
      `how long the old one goes on working: now, 30s, 15m, 24h, 7d; ${usualGrace}h by default`,
      readGrace,
    )
    .option(...jsonOption)
    .action((id: string, options: JsonOption & { grace?: number }) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const rotated = await admin.rotateKey(id, { grace_seconds: options.grace }, actor);
        const old =
          options.grace === 0
            ? 'No earlier key works any more.'
            : `The old key works until ${rotated.previous_expires_at}.`;
        return { data: { ...rotated }, notes: [`Rotated ${id}. ${old}`, shownOnce], result: rotated.key };
      }),
    );

  keys
    .command('revoke')
    .description('Revoke a key for good; running gateways refuse it within 5 seconds.')
    .argument('<id>', 'from keys list')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const key = await admin.revokeKey(id, actor);
        return {
          data: { key },
          result: `Revoked ${id}, as of ${key.revoked_at}. Running gateways refuse it within 5 seconds.`,
        };
      }),
    );
}

function readGrace(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new InvalidArgumentError('It must be now, 0, or like 30s, 15m, 24h, 7d.');
  return seconds;
}
