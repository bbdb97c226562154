import { type Command, Option } from 'commander';
import { inputError } from '../errors.js';
import { countsOf } from '../keys/audit-text.js';
import type { LimitUse, ListedTenant } from '../keys/key-reads.js';
import type { TenantView } from '../keys/model.js';
import { tenantName, tenantSorts } from '../keys/schemas.js';
import { allPages, type OpenKeys, withKeys } from './open.js';
import {
  formatFacts,
  formatTable,
  type JsonOption,
  jsonOption,
  minute,
  type Terminal,
  usageErrors,
} from './output.js';
import { addLimitOptions, type LimitFlags, limitLabel, limitNames, limitsOf } from './plans.js';
import { commandName } from './process.js';

/** Adds `tenants` and its commands to the program. */
export function registerTenantCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  const tenants = program
    .command('tenants')
    .description('Create, find, limit, suspend and delete tenants, the owners of keys.');
  usageErrors(tenants, terminal);

  tenants
    .command('create')
    .description('Create a tenant.')
    .argument('<name>', tenantName.form)
    .option(...jsonOption)
    .action((name: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const tenant = await admin.createTenant(name, actor);
        const next = `Next, a key for it: ${commandName()} keys issue ${name}`;
        return { data: { tenant }, result: `Created the tenant ${name}. ${next}` };
      }),
    );

  registerLists(tenants, open, terminal);
  registerChanges(tenants, open, terminal);

  tenants
    .command('webhook-secret')
    .description("Show what signs a tenant's webhooks. The secret is the last line on stdout, alone.")
    .argument('<name>', 'from tenants list')
    .option('--rotate', 'make another; for 24 hours webhooks are signed with the one before as well')
    .option(...jsonOption)
    .action((name: string, { rotate, ...options }: JsonOption & { rotate?: boolean }) =>
      withKeys(open, terminal, { ...options, signs: true }, async (admin, actor) => {
        const read = rotate ? admin.rotateWebhookSecret : admin.webhookSecret;
        const secret = await read(name, actor);
        const { webhook_secret, previous_until } = secret;
        const grace = previous_until
          ? ` The one before signs as well until ${previous_until}.`
          : ' Receivers check by it that a webhook comes from here.';
        const what = rotate ? 'The new webhook secret' : 'The webhook secret';
        return { data: { ...secret }, notes: [`${what} of ${name}.${grace}`], result: webhook_secret };
      }),
    );
}

interface ListFlags extends JsonOption {
  search?: string;
  state?: string;
  sort?: string;
}

function registerLists(tenants: Command, open: OpenKeys, terminal: Terminal): void {
  tenants
    .command('list')
    .description('List all tenants, with figures of the last 7 days.')
    .option('--search <text>', 'only those with this text in their name, external id or note')
    .addOption(new Option('--state <state>', 'only these').choices(['active', 'suspended']))
    .addOption(
      new Option('--sort <field>', 'name by default; figures with the largest first').choices(tenantSorts),
    )
    .option(...jsonOption)
    .action(({ search: q, state, sort, ...options }: ListFlags) =>
      withKeys(open, terminal, options, async (admin) => {
        const all = await allPages('tenants', (page) => admin.listTenants({ q, state, sort, ...page }));
        if (all.length > 0) return { data: { tenants: all }, result: tableOf(all) };
        const isFiltered = q !== undefined || state !== undefined;
        const none = `There is no tenant yet. Create one: ${commandName()} tenants create NAME`;
        return { data: { tenants: all }, notes: [isFiltered ? 'No tenant is like that.' : none] };
      }),
    );

  tenants
    .command('show')
    .description('Show a tenant, the limits in force with where each comes from, and what is used of them.')
    .argument('<name>', 'from tenants list')
    .option(...jsonOption)
    .action((name: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const tenant = await admin.tenant(name);
        const used = await admin.limitUse(tenant);
        return { data: { tenant, used }, result: `${factsOf(tenant)}\n\n${limitTable(tenant, used)}` };
      }),
    );
}

interface LimitsFlags extends JsonOption, LimitFlags {
  plan?: string;
}

const soon = 'Running gateways go by it within 5 seconds.';

function registerChanges(tenants: Command, open: OpenKeys, terminal: Terminal): void {
  const limits = tenants
    .command('limits')
    .description(
      "Change a tenant's limits and plan; what is left out stays. Without an option it shows them.",
    )
    .argument('<name>', 'from tenants list')
    .option('--plan <plan>', 'its plan, from plans list; none: without one');
  addLimitOptions(limits, limitNames, "the plan's, else the gateway's default")
    .option(...jsonOption)
    .action((name: string, flags: LimitsFlags) =>
      withKeys(open, terminal, flags, async (admin, actor) => {
        const { plan } = flags;
        const changes = {
          ...limitsOf(flags),
          ...(plan !== undefined && { plan: plan === 'none' ? null : plan }),
        };
        const isChange = Object.keys(changes).length > 0;
        const tenant = isChange ? await admin.editTenant(name, changes, actor) : await admin.tenant(name);
        const used = await admin.limitUse(tenant);
        const notes = isChange ? [`Changed the limits of ${name}. ${soon}`] : [];
        return { data: { tenant, used }, notes, result: limitTable(tenant, used) };
      }),
    );

  tenants
    .command('rename')
    .description('Give a tenant another name; keys, members and usage stay.')
    .argument('<name>', 'from tenants list')
    .argument('<new>', tenantName.form)
    .option(...jsonOption)
    .action((name: string, to: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const tenant = await admin.editTenant(name, { name: to }, actor);
        return { data: { tenant }, result: `Renamed ${name} to ${to}.` };
      }),
    );

  for (const [command, state, description, done] of [
    ['suspend', 'suspended', 'Refuse all calls of a tenant until it is resumed; its jobs wait.', 'Suspended'],
    ['resume', 'active', 'Accept the calls of a suspended tenant again; its jobs go on.', 'Resumed'],
  ] as const)
    tenants
      .command(command)
      .description(description)
      .argument('<name>', 'from tenants list')
      .option(...jsonOption)
      .action((name: string, options: JsonOption) =>
        withKeys(open, terminal, options, async (admin, actor) => {
          const tenant = await admin.editTenant(name, { state }, actor);
          return { data: { tenant }, result: `${done} ${name}. ${soon}` };
        }),
      );

  tenants
    .command('delete')
    .description(
      'Delete a tenant for good, with its keys, recipes, members and jobs; its usage stays on record.',
    )
    .argument('<name>', 'from tenants list')
    .option('--yes', 'without asking')
    .option(...jsonOption)
    .action((name: string, { yes, ...options }: JsonOption & { yes?: boolean }) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        if (!yes) await confirm(terminal, name, await admin.contents(name));
        const deleted = await admin.deleteTenant(name, actor);
        return { data: { ...deleted }, result: `Deleted ${name}: ${countsOf(deleted.deleted)}.` };
      }),
    );
}

/** Has the person at the terminal type the name; without one it is refused. */
async function confirm(terminal: Terminal, name: string, contents: Record<string, number>): Promise<void> {
  const what = `This deletes ${name} for good: ${countsOf(contents)}.`;
  const typed = await terminal.ask?.(`${what}\nType its name to go on: `);
  if (typed === undefined)
    throw inputError([{ field: 'yes', problem: `must be given where nobody can be asked. ${what}` }]);
  if (typed !== name) throw inputError([{ field: 'name', problem: 'was not typed: nothing is deleted' }]);
}

function tableOf(tenants: ListedTenant[]): string {
  const rows = tenants.map(({ name, state, plan, in_force, calls, errors, cpu_ms, last_used_at }) => [
    name,
    state,
    plan ?? '-',
    in_force.rate.value === 0 ? 'none' : `${in_force.rate.value ?? '-'}/s`,
    String(in_force.monthly_quota.value ?? 'none'),
    ...[calls, errors, cpu_ms].map(String),
    minute(last_used_at),
  ]);
  const headings = [
    'NAME',
    'STATE',
    'PLAN',
    'RATE',
    'MONTHLY QUOTA',
    'CALLS',
    'ERRORS',
    'CPU (MS)',
    'LAST USED',
  ];
  return formatTable(headings, rows);
}

function factsOf(tenant: TenantView): string {
  return formatFacts([
    ['name', tenant.name],
    ['id', tenant.id],
    ['state', tenant.suspended_at === null ? tenant.state : `suspended since ${minute(tenant.suspended_at)}`],
    ['plan', tenant.plan],
    ['created', minute(tenant.created_at)],
    ['external id', tenant.external_id],
    ['note', tenant.note],
    ['notices to', tenant.notice_url],
  ]);
}

/** What is in force, whose value it is, and what is used of it in this month. */
function limitTable({ in_force }: TenantView, used: LimitUse): string {
  const usedOf: Record<string, number | null> = { monthly_quota: used.calls, monthly_cpu_ms: used.cpu_ms };
  const rows = limitNames.map((name) => {
    const { value, from } = in_force[name];
    const shown = value === null || (name === 'rate' && value === 0) ? 'none' : String(value);
    return [limitLabel(name), shown, from, String(usedOf[name] ?? '')];
  });
  return formatTable(['LIMIT', 'VALUE', 'FROM', 'USED'], rows);
}
