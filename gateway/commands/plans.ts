import type { Command } from 'commander';
import type { LimitChanges } from '../keys/inputs.js';
import { limitsSchema } from '../keys/schemas.js';
import { type OpenKeys, withKeys } from './open.js';
import { formatTable, type JsonOption, jsonOption, type Terminal, usageErrors } from './output.js';
import { commandName } from './process.js';

type LimitName = keyof typeof limitsSchema.properties;
export const limitNames = Object.keys(limitsSchema.properties) as LimitName[];

/** By the names that commander gives to options such as `--monthly-quota`. */
export type LimitFlags = Record<string, unknown>;

/** Adds an option for each of these limits. */
export function addLimitOptions(command: Command, names: readonly LimitName[], none: string): Command {
  for (const name of names) {
    const { description } = limitsSchema.properties[name];
    const text = description.replace(/ Null .*/, '').replace(/\.$/, '');
    const flag = name.replaceAll('_', '-');
    command.option(`--${flag} <n>`, `${lowerFirst(text)}; none: ${none}`);
  }
  return command;
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** A number, null for `none`; anything else stays text, for the rules of limits to refuse. */
function readLimit(text: string): number | string | null {
  if (text === 'none') return null;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Those limits that were given. */
export function limitsOf(flags: LimitFlags): LimitChanges {
  const optionOf = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const given = limitNames.map((name) => [name, flags[optionOf(name)]] as const);
  return Object.fromEntries(
    given.flatMap(([name, text]) => (typeof text === 'string' ? [[name, readLimit(text)]] : [])),
  );
}

/** As people read it: `monthly quota`. */
export const limitLabel = (name: string) => name.replaceAll('_', ' ').replace('cpu ms', 'CPU (ms)');

/** Adds `plans` and its commands to the program. */
export function registerPlanCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  const plans = usageErrors(program.command('plans'), terminal);
  plans.description('Set, list and delete plans: named sets of limits that tenants refer to.');

  plans
    .command('list')
    .description('List all plans, and how many tenants refer to each.')
    .option(...jsonOption)
    .action((options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const found = await admin.plans();
        const hint = `There is no plan yet. Make one: ${commandName()} plans set NAME --rate 10`;
        if (found.length === 0) return { data: { plans: found }, notes: [hint] };
        const headings = ['NAME', ...limitNames.map((name) => limitLabel(name).toUpperCase()), 'TENANTS'];
        const rows = found.map(({ name, limits, weight, tenants }) => {
          const values = { ...limits, weight };
          return [name, ...limitNames.map((limit) => String(values[limit] ?? '-')), String(tenants)];
        });
        return { data: { plans: found }, result: formatTable(headings, rows) };
      }),
    );

  const set = plans
    .command('set')
    .description('Make a plan, or replace the one of this name: what is left out has no value.')
    .argument('<name>', 'such as free or team');
  addLimitOptions(set, limitNames, "the gateway's default")
    .option(...jsonOption)
    .action((name: string, options: JsonOption & LimitFlags) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const { plan, isNew } = await admin.putPlan(name, limitsOf(options), actor);
        const use = `Give it to a tenant: ${commandName()} tenants limits TENANT --plan ${name}`;
        const result = isNew
          ? `Made the plan ${name}. ${use}`
          : `Replaced the plan ${name} for all its tenants.`;
        return { data: { plan }, result };
      }),
    );

  plans
    .command('delete')
    .description('Delete a plan that no tenant refers to.')
    .argument('<name>', 'from plans list')
    .option(...jsonOption)
    .action((name: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const plan = await admin.deletePlan(name, actor);
        return { data: { plan }, result: `Deleted the plan ${name}.` };
      }),
    );
}
