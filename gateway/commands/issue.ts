import type { Command } from 'commander';
import { keySchema } from '../keys/schemas.js';
import { readExpiry } from './expiry.js';
import { type OpenKeys, withKeys } from './open.js';
import { splitOperands } from './operands.js';
import { type JsonOption, jsonOption, shownOnce, type Terminal } from './output.js';

interface IssueFlags extends JsonOption {
  label?: string;
  scope?: string[];
  expires?: string;
}

/** Adds `issue` to `keys`. */
export function registerIssue(keys: Command, open: OpenKeys, terminal: Terminal): void {
  keys
    .command('issue')
    .description('Issue a key to a tenant. The key is the last line on stdout, alone.')
    .usage('[options] <tenant>')
    .argument('<tenant...>', 'whose key it is')
    .option('--label <label>', `a name for people, up to ${keySchema.properties.label.line} characters`)
    .option(
      '--scope <scope>',
      'a helper it may call, e.g. text/remove-stopwords, or a group such as text/*; again, or with commas, for more; all by default',
      addScopes,
    )
    .option(
      '--expires <time>',
      'ISO 8601 day or time, e.g. 2030-01-31 or 2030-01-31T18:00:00Z, or a time from now, e.g. 12h or 30d',
    )
    .option(...jsonOption)
    .action((operands: string[], flags: IssueFlags, command: Command) => {
      const split = splitOperands(operands, flags.scope !== undefined);
      if ('problem' in split) return command.error(`error: ${split.problem}`);
      const { tenant } = split;
      return withKeys(open, terminal, { ...flags, signs: true }, async (admin, actor) => {
        const given = {
          label: flags.label,
          scopes: flags.scope && [...flags.scope, ...split.scopes],
          expires_at: flags.expires === undefined ? undefined : readExpiry(flags.expires, Date.now()),
        };
        const issued = await admin.issueKey(tenant, given, actor);
        const { id, key, scopes, expires_at, signing_secret } = issued;
        const may = scopes === null ? 'every helper' : scopes.join(', ');
        const until = expires_at === null ? '' : ` until ${expires_at}`;
        return {
          data: { ...issued },
          notes: [
            `Issued ${id} to ${tenant}: it opens ${may}${until}. Send it as the query parameter ak.`,
            ...signingNote(id, signing_secret, terminal),
            shownOnce,
          ],
          result: key,
        };
      });
    });
}

/** The secret itself only to a person: where a script takes the key from stdout, what goes to stderr stands in its log. */
function signingNote(id: string, secret: string | null, { stdout }: Terminal): string[] {
  if (secret === null) return [];
  const shown = stdout.isTTY ? secret : `which keys signing-secret ${id} shows`;
  return [`Urls on web pages show no key: sign them with its signing secret, ${shown}`];
}

function addScopes(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(',').map((scope) => scope.trim())];
}
