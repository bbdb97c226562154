import { type Command, InvalidArgumentError } from 'commander';

import type { KeyAdmin } from '../keys/admin.js';
import type { KeyView } from '../keys/views.js';
import { parseDuration } from './duration.js';
import { type OpenKeys, withKeys } from './open.js';
import { processTerminal, type Terminal, usageErrors } from './output.js';
import { formatTable } from './table.js';

interface Options {
  json?: boolean;
}

interface IssueFlags extends Options {
  label?: string;
  scope?: string[];
  expires?: string;
}

const JSON_OPTION = ['--json', 'print one JSON document'] as const;
const SHOWN_ONCE = 'This is the only time the key is shown:';

/** Adds `keys issue`, `keys list`, `keys rotate` and `keys revoke` to the program. */
export function registerKeyCommands(
  program: Command,
  open: OpenKeys,
  terminal: Terminal = processTerminal,
): void {
  const keys = program.command('keys').description('Issue, list, rotate and revoke keys.');
  usageErrors(keys, terminal);

  keys
    .command('issue')
    .description('Issue a key to a tenant. The key is the last line on stdout, alone.')
    .argument('<tenant>')
    .option('--label <label>', 'a name for people, up to 100 characters')
    .option('--scope <scope...>', 'helpers it may call, e.g. text/remove-stopwords or text/*; all by default')
    .option('--expires <time>', 'ISO 8601 day or time, e.g. 2030-01-31 or 2030-01-31T18:00:00Z')
    .option(...JSON_OPTION)
    .action((tenant: string, flags: IssueFlags) =>
      withKeys(open, terminal, flags, async (admin, actor) => {
        const { label, scope: scopes, expires: expires_at } = flags;
        const issued = await admin.issueKey(tenant, { label, scopes, expires_at }, actor);
        const { id, key, ...what } = issued;
        const may = what.scopes === null ? 'every helper' : what.scopes.join(', ');
        const until = what.expires_at === null ? '' : ` until ${what.expires_at}`;
        return {
          data: { ...issued },
          notes: [
            `Issued ${id} to ${tenant}: it opens ${may}${until}. Send it as the query parameter ak.`,
            SHOWN_ONCE,
          ],
          result: key,
        };
      }),
    );

  keys
    .command('list')
    .description('List the keys of a tenant, never the keys themselves.')
    .argument('<tenant>')
    .option(...JSON_OPTION)
    .action((tenant: string, options: Options) =>
      withKeys(open, terminal, options, async (admin) => {
        const all = await allKeys(admin, tenant);
        if (all.length > 0) return { data: { keys: all }, result: tableOf(all) };
        const hint = `${tenant} has no key yet. Issue one: npx helper-gateway keys issue ${tenant}`;
        return { data: { keys: all }, notes: [hint] };
      }),
    );

  keys
    .command('rotate')
    .description('Give a key a new secret. The new key is the last line on stdout, alone.')
    .argument('<id>', 'e.g. key_4fGhJ2kLm9Qr, from keys list')
    .option(
      '--grace <time>',
      'how long the old one goes on working: now, 30s, 15m, 24h, 7d',
      readGrace,
      86_400,
    )
    .option(...JSON_OPTION)
    .action((id: string, options: Options & { grace: number }) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const rotated = await admin.rotateKey(id, { grace_seconds: options.grace }, actor);
        const old =
          options.grace === 0
            ? 'No earlier key works any more.'
            : `The old key works until ${rotated.previous_expires_at}.`;
        return { data: { ...rotated }, notes: [`Rotated ${id}. ${old}`, SHOWN_ONCE], result: rotated.key };
      }),
    );

  keys
    .command('revoke')
    .description('Revoke a key for good; running gateways refuse it within 5 seconds.')
    .argument('<id>', 'from keys list')
    .option(...JSON_OPTION)
    .action((id: string, options: Options) =>
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

async function allKeys(admin: KeyAdmin, tenant: string): Promise<KeyView[]> {
  const all: KeyView[] = [];
  let after: string | undefined;
  do {
    const { keys, next } = await admin.listKeys(tenant, { after, limit: 1000 });
    all.push(...keys);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
}

function tableOf(keys: KeyView[]): string {
  const headings = ['ID', 'STATE', 'KEY', 'LABEL', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'IN GRACE'];
  const rows = keys.map((key) => [
    key.id,
    key.state,
    key.hint,
    key.label ?? '-',
    key.scopes?.join(',') ?? 'all',
    minute(key.created_at),
    minute(key.expires_at),
    minute(key.last_used_at),
    graceOf(key),
  ]);
  return formatTable(headings, rows);
}

function graceOf(key: KeyView): string {
  const inGrace = key.secrets.filter((secret) => secret.expires_at !== null);
  return inGrace.map((secret) => `${secret.hint} until ${minute(secret.expires_at)}`).join(', ') || '-';
}

/** `2030-01-31T18:00Z`: to the minute is enough for people, and the zone stays on it. */
function minute(time: string | null): string {
  return time === null ? '-' : `${time.slice(0, 16)}Z`;
}
