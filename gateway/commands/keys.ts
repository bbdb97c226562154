import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { quote } from '../../schemas/quote.js';
import type { LimitUse } from '../keys/key-reads.js';
import type { KeyView } from '../keys/model.js';
import { keyFilters, keySchema, keySorts, rotationSchema } from '../keys/schemas.js';
import { allPages, type OpenKeys, parseDuration, parseExpiry, withKeys } from './open.js';
import {
  formatFacts,
  formatTable,
  type JsonOption,
  jsonOption,
  minute,
  type Terminal,
  usageErrors,
} from './output.js';
import { addLimitOptions, type LimitFlags, limitLabel, limitsOf } from './plans.js';
import { commandName } from './process.js';

/** Stands before a key on its only appearance. */
const shownOnce = 'This is the only time the key is shown:';
const usualGrace = rotationSchema.properties.grace_seconds.default / 3600;

/** Adds `keys` and its commands to the program. */
export function registerKeyCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  const keys = program.command('keys').description('Issue, find, edit, pause, rotate and revoke keys.');
  usageErrors(keys, terminal);

  registerIssue(keys, open, terminal);
  registerSigning(keys, open, terminal);

  registerLists(keys, open, terminal);
  registerChanges(keys, open, terminal);

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
        const until = `The old key works until ${rotated.previous_expires_at}.`;
        const old = options.grace === 0 ? 'No earlier key works any more.' : until;
        return { data: { ...rotated }, notes: [`Rotated ${id}. ${old}`, shownOnce], result: rotated.key };
      }),
    );

  commandOfKey(keys, 'revoke', 'Revoke a key for good; running gateways refuse it within 5 seconds.').action(
    (id: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const key = await admin.revokeKey(id, actor);
        const result = `Revoked ${id}, as of ${key.revoked_at}. Running gateways refuse it within 5 seconds.`;
        return { data: { key }, result };
      }),
  );
}

/** Adds a command that works on one key. */
function commandOfKey(keys: Command, name: string, description: string): Command {
  const command = keys.command(name).description(description);
  return command.argument('<id>', 'from keys list').option(...jsonOption);
}

interface ListFlags extends JsonOption {
  search?: string;
  state?: string;
  sort?: string;
}

function registerLists(keys: Command, open: OpenKeys, terminal: Terminal): void {
  keys
    .command('list')
    .description(
      'List keys of a tenant, or of all, never the keys themselves; revoked ones with --state alone.',
    )
    .argument('[tenant]', 'from tenants list')
    .option('--search <text>', 'only those with this text in their id, label or first characters')
    .addOption(
      new Option('--state <state>', 'only these; in_grace: with an old secret that still works').choices(
        keyFilters,
      ),
    )
    .addOption(new Option('--sort <field>', 'created_at by default, the newest first').choices(keySorts))
    .option(...jsonOption)
    .action((tenant: string | undefined, { search: q, state, sort, ...options }: ListFlags) =>
      withKeys(open, terminal, options, async (admin) => {
        const query = { tenant, q, state, sort };
        const all = await allPages('keys', (page) => admin.searchKeys({ ...query, ...page }));
        if (all.length > 0) return { data: { keys: all }, result: keyTable(all, tenant === undefined) };
        const whose = tenant ?? 'TENANT';
        const none = tenant === undefined ? 'There is no key yet' : `${tenant} has no key yet`;
        const isFiltered = q !== undefined || state !== undefined;
        const hint = isFiltered
          ? 'No key is like that.'
          : `${none}. Issue one: ${commandName()} keys issue ${whose}`;
        return { data: { keys: all }, notes: [hint] };
      }),
    );

  keys
    .command('find')
    .description('Find the key that a whole secret belongs to, which is read from stdin or asked for.')
    .argument('[input]', '- for stdin; a secret on the command line would stay in the history of the shell')
    .option(...jsonOption)
    .action((input: string | undefined, options: JsonOption, command: Command) => {
      if (input !== undefined && input !== '-')
        return command.error(
          'error: the key is not given on the command line, where it stays in the history of the shell: pipe it in, or type it when asked. Texts of ids and labels: keys list --search',
        );
      return withKeys(open, terminal, options, async (admin) => {
        const typed = input === '-' ? undefined : await terminal.ask?.('Key: ', { secret: true });
        const key = await admin.findKey({ key: (typed ?? (await text(process.stdin))).trim() });
        return { data: { key }, result: keyFacts(key) };
      });
    });

  commandOfKey(keys, 'show', 'Show a key, its own limits, and what it has used in this month.').action(
    (id: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const key = await admin.key(id);
        const used = await admin.limitUse(key);
        return { data: { key, used }, result: keyFacts(key, used) };
      }),
  );
}

interface EditFlags extends JsonOption, LimitFlags {
  label?: string;
  scope?: string[];
  expires?: string;
}

const soon = 'Running gateways go by it within 5 seconds.';

function registerChanges(keys: Command, open: OpenKeys, terminal: Terminal): void {
  const edit = keys
    .command('edit')
    .description('Change the label, scopes, expiry and limits of a key; what is left out stays.')
    .argument('<id>', 'from keys list')
    .option('--label <label>', 'a name for people; none: without one')
    .option(
      '--scope <scope>',
      'a helper or group it may call, in place of those before; none: all',
      addScopes,
    )
    .option('--expires <time>', 'as for keys issue; none: never');
  addLimitOptions(edit, ['rate', 'monthly_quota', 'monthly_cpu_ms'], "the tenant's alone")
    .option(...jsonOption)
    .action((id: string, flags: EditFlags) =>
      withKeys(open, terminal, flags, async (admin, actor) => {
        const { label, scope, expires } = flags;
        const changes = {
          ...(label !== undefined && { label: label === 'none' ? null : label }),
          ...(scope !== undefined && { scopes: scope.join() === 'none' ? null : scope }),
          ...(expires !== undefined && {
            expires_at: expires === 'none' ? null : parseExpiry(expires, Date.now()),
          }),
          ...limitsOf(flags),
        };
        const key = await admin.editKey(id, changes, actor);
        const isChange = Object.keys(changes).length > 0;
        const note = isChange ? `Changed ${id}. ${soon}` : 'Nothing was given to change.';
        return { data: { key }, notes: [note], result: keyFacts(key) };
      }),
    );

  for (const [name, state, description, done] of [
    ['pause', 'paused', 'Refuse the calls of a key until it is resumed.', 'Paused'],
    ['resume', 'active', 'Accept the calls of a paused key again.', 'Resumed'],
  ] as const)
    commandOfKey(keys, name, description).action((id: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const key = await admin.editKey(id, { state }, actor);
        return { data: { key }, result: `${done} ${id}. ${soon}` };
      }),
    );
}

function readGrace(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new InvalidArgumentError('It must be now, 0, or like 30s, 15m, 24h, 7d.');
  return seconds;
}

interface IssueFlags extends JsonOption {
  label?: string;
  scope?: string[];
  expires?: string;
}

function registerIssue(keys: Command, open: OpenKeys, terminal: Terminal): void {
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
          expires_at: flags.expires === undefined ? undefined : parseExpiry(flags.expires, Date.now()),
        };
        const issued = await admin.issueKey(tenant, given, actor);
        const { id, key, scopes, expires_at, signing_secret } = issued;
        const may = scopes === null ? 'every helper' : scopes.join(', ');
        const until = expires_at === null ? '' : ` until ${expires_at}`;
        const opens = `Issued ${id} to ${tenant}: it opens ${may}${until}. Send it as the query parameter ak.`;
        const notes = [opens, ...signingNote(id, signing_secret, terminal), shownOnce];
        return { data: { ...issued }, notes, result: key };
      });
    });
}

/** Shows the secret to a person alone: the stderr of a script often goes to a log. */
function signingNote(id: string, secret: string | null, { stdout }: Terminal): string[] {
  if (secret === null) return [];
  const shown = stdout.isTTY ? secret : `which keys signing-secret ${id} shows`;
  return [`Urls on web pages show no key: sign them with its signing secret, ${shown}`];
}

function addScopes(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(',').map((scope) => scope.trim())];
}

/** Separates a tenant's name from scopes that follow one `--scope`: a helper's id has a slash, which no name has. */
function splitOperands(
  operands: readonly string[],
  hasScopes: boolean,
): { tenant: string; scopes: string[] } | { problem: string } {
  const scopes = hasScopes ? operands.filter((each) => each.includes('/')) : [];
  const tenants = operands.filter((each) => !scopes.includes(each));
  const [tenant] = tenants;
  if (tenant === undefined) return { problem: "missing required argument 'tenant'" };
  if (tenants.length === 1) return { tenant, scopes };
  const hint = hasScopes ? '; give each scope a --scope of its own, or put commas between them' : '';
  const found = tenants.map(quote).join(', ');
  return { problem: `too many arguments for 'issue': one tenant is wanted, but there are ${found}${hint}` };
}

function registerSigning(keys: Command, open: OpenKeys, terminal: Terminal): void {
  for (const { name, description, read, note } of [
    {
      name: 'signing-secret',
      description: 'Show what signs urls for a key. The secret is the last line on stdout, alone.',
      read: 'signingSecret',
      note: (id: string) => `The signing secret of ${id}. Everybody who has it calls helpers as this key:`,
    },
    {
      name: 'rotate-signing',
      description: 'Give a key a new signing secret, the last line on stdout; urls signed before end.',
      read: 'rotateSigning',
      note: (id: string) =>
        `The new signing secret of ${id}. Running gateways refuse urls that were signed before within 5 seconds; the key itself stays as it is.`,
    },
  ] as const)
    commandOfKey(keys, name, description).action((id: string, options: JsonOption) =>
      withKeys(open, terminal, { ...options, signs: true }, async (admin, actor) => {
        const secret = await admin[read](id, actor);
        return { data: { ...secret }, notes: [note(id)], result: secret.signing_secret };
      }),
    );
}

function keyTable(keys: KeyView[], withTenants: boolean): string {
  const headings = ['ID', 'STATE', 'KEY', 'LABEL', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'IN GRACE'];
  const rows = keys.map((key) => [
    key.id,
    ...(withTenants ? [key.tenant] : []),
    key.state,
    key.hint,
    key.label ?? '-',
    key.scopes?.join(',') ?? 'all',
    minute(key.created_at),
    minute(key.expires_at),
    minute(key.last_used_at),
    graceOf(key),
  ]);
  return formatTable(withTenants ? headings.toSpliced(1, 0, 'TENANT') : headings, rows);
}

/** A key, and what it has used in this month. */
function keyFacts(key: KeyView, used?: LimitUse): string {
  const limits = Object.entries(key.limits).filter(([, value]) => value !== null);
  return formatFacts([
    ['id', key.id],
    ['tenant', key.tenant],
    ['state', key.state],
    ['key', key.hint],
    ['label', key.label],
    ['scopes', key.scopes?.join(', ') ?? 'every helper'],
    ['created', minute(key.created_at)],
    ['expires', minute(key.expires_at, 'never')],
    ['last used', minute(key.last_used_at, 'never')],
    ['in grace', graceOf(key)],
    [
      'own limits',
      limits.map(([name, value]) => `${limitLabel(name)} ${value}`).join(', ') || "none, the tenant's hold",
    ],
    ...(used ? [['used this month', usedText(used)] as const] : []),
  ]);
}

function usedText({ calls, cpu_ms }: LimitUse): string {
  const parts = [calls === null ? [] : `${calls} calls`, cpu_ms === null ? [] : `${cpu_ms} ms of CPU`];
  return parts.flat().join(', ') || 'not counted without a quota or budget of its own';
}

function graceOf(key: KeyView): string {
  const inGrace = key.secrets.filter((secret) => secret.expires_at !== null);
  return inGrace.map((secret) => `${secret.hint} until ${minute(secret.expires_at)}`).join(', ') || '-';
}
