import type { Command } from 'commander';

import type { KeyAdmin } from '../keys/admin.js';
import type { TenantView } from '../keys/views.js';
import { type OpenKeys, withKeys } from './open.js';
import { processTerminal, type Terminal, usageErrors } from './output.js';
import { formatTable } from './table.js';

interface Options {
  json?: boolean;
}

const JSON_OPTION = ['--json', 'print one JSON document'] as const;

/** Adds `tenants create` and `tenants list` to the program. */
export function registerTenantCommands(
  program: Command,
  open: OpenKeys,
  terminal: Terminal = processTerminal,
): void {
  const tenants = program.command('tenants').description('Create and list tenants: the owners of keys.');
  usageErrors(tenants, terminal);

  tenants
    .command('create')
    .description('Create a tenant.')
    .argument('<name>', '1 to 63 of a-z, 0-9 and "-"')
    .option(...JSON_OPTION)
    .action((name: string, options: Options) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const tenant = await admin.createTenant(name, actor);
        return {
          data: { tenant },
          result: `Created the tenant ${name}. Next, a key for it: npx helper-gateway keys issue ${name}`,
        };
      }),
    );

  tenants
    .command('list')
    .description('List all tenants.')
    .option(...JSON_OPTION)
    .action((options: Options) =>
      withKeys(open, terminal, options, async (admin) => {
        const all = await allTenants(admin);
        if (all.length === 0) {
          return {
            data: { tenants: all },
            notes: ['There is no tenant yet. Create one: npx helper-gateway tenants create NAME'],
          };
        }
        return { data: { tenants: all }, result: tableOf(all) };
      }),
    );
}

async function allTenants(admin: KeyAdmin): Promise<TenantView[]> {
  const all: TenantView[] = [];
  let after: string | undefined;
  do {
    const { tenants, next } = await admin.listTenants({ after, limit: 1000 });
    all.push(...tenants);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
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
