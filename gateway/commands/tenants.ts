import type { Command } from 'commander';
import type { TenantView } from '../keys/model.js';
import { tenantName } from '../keys/schemas.js';
import { allPages, type OpenKeys, withKeys } from './open.js';
import { formatTable, type JsonOption, jsonOption, type Terminal, usageErrors } from './output.js';
import { commandName } from './process.js';

/** Adds `tenants` and its commands to the program. */
export function registerTenantCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  const tenants = program
    .command('tenants')
    .description('Create and list tenants, the owners of keys, and show what signs their webhooks.');
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

  tenants
    .command('list')
    .description('List all tenants.')
    .option(...jsonOption)
    .action((options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const all = await allPages('tenants', (page) => admin.listTenants(page));
        if (all.length > 0) return { data: { tenants: all }, result: tableOf(all) };
        const hint = `There is no tenant yet. Create one: ${commandName()} tenants create NAME`;
        return { data: { tenants: all }, notes: [hint] };
      }),
    );

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

function tableOf(tenants: TenantView[]): string {
  const rows = tenants.map(({ name, created_at, limits, weight }) => [
    name,
    created_at.slice(0, 10),
    limits.rate === null ? 'default' : limits.rate === 0 ? 'none' : `${limits.rate}/s`,
    limits.monthly_quota === null ? 'default' : String(limits.monthly_quota),
    String(weight),
  ]);
  return formatTable(['NAME', 'CREATED', 'RATE', 'MONTHLY QUOTA', 'WEIGHT'], rows);
}
