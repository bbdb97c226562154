import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isObject } from '../../schemas/json-schema.js';
import { list } from '../../schemas/quote.js';
import { reasonOf } from '../database/store-error.js';
import { inputError } from '../errors.js';
import { originOf } from '../keys/model.js';
import type { Change, IssuedKey, planChanges } from './apply-changes.js';
import { type OpenKeys, withKeys } from './open.js';
import {
  type Answer,
  columns,
  describeError,
  formatTable,
  type JsonOption,
  jsonOption,
  sentence,
  type Terminal,
} from './output.js';
import { readDefinition } from './recipes.js';

type ApplyFlags = JsonOption & { file: string; dryRun?: boolean };
type Plan = Awaited<ReturnType<typeof planChanges>>;

/** `apply -f FILE`: brings plans, tenants, keys and recipes to what a file says. */
export function registerApply(program: Command, open: OpenKeys, terminal: Terminal): void {
  program
    .command('apply')
    .description(
      'Add and change plans, tenants, keys and recipes as a file says. What is not in the file is left alone.',
    )
    .requiredOption('-f, --file <file>', 'in YAML or JSON; - reads stdin')
    .option('--dry-run', 'only print the difference; the exit code is 0, with differences too')
    .option(...jsonOption)
    .action(({ file, dryRun = false, ...options }: ApplyFlags) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const folder = file === '-' ? process.cwd() : dirname(file);
        const readRecipe = (path: string) => readDefinition(resolve(folder, path));
        const { planChanges } = await import('./apply-changes.js');
        const plan = await planChanges(await readYaml(file), admin, readRecipe);
        return dryRun ? describe(plan, { dryRun }) : run(plan, actor);
      }),
    );
}

/** Applies what has to be done, in order, up to the first failure. */
async function run(plan: Plan, actor: string): Promise<Answer> {
  const keys: IssuedKey[] = [];
  for (const [done, { change, run }] of plan.steps.entries()) {
    try {
      await run({ actor, onIssued: (key) => void keys.push(key) });
    } catch (error) {
      const applied = describe(plan, { keys, done });
      const fault = `${nameOf(change)}: ${sentence(error).replace(/\.$/, '')}`;
      const message = `${fault}. ${done} of ${plan.steps.length} changes were applied; run it again for the others.`;
      return { ...applied, failure: { ...describeError(error), message } };
    }
  }
  return describe(plan, { keys });
}

/** Reads the core schema of YAML 1.2, of which JSON is a part: it makes nothing but plain values. */
async function readYaml(file: string): Promise<object> {
  const refuse = (problem: string) => inputError([{ field: 'file', problem }]);
  const source = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error) => {
    throw refuse(`cannot be read: ${reasonOf(error)}`);
  });
  const { parseDocument } = await import('yaml');
  try {
    const document = parseDocument(source, { schema: 'core', version: '1.2' });
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw fault;
    // Aliases within aliases grow without end. A zero has no sign here.
    const value = document.toJS({ maxAliasCount: 10_000, reviver: (_, value) => (value === 0 ? 0 : value) });
    if (isObject(value)) return value;
    throw new Error('it must be an object with tenants or plans');
  } catch (error) {
    const [reason = ''] = reasonOf(error).split(':\n');
    throw refuse(`must be YAML or JSON: ${reason}`);
  }
}

/** What of a plan is, or was, `done`: all of it by default. */
function describe(
  { steps, unchanged, leftAlone }: Plan,
  { dryRun = false, keys = [] as readonly IssuedKey[], done = steps.length },
): Answer {
  const changes = steps.slice(0, done).map(({ change }) => withoutPaths(change));
  const added = changes.filter(({ action }) => action === 'add').length;
  const [add, edit] = dryRun ? ['to add', 'to change'] : ['added', 'changed'];
  const counts = `${added} ${add}, ${changes.length - added} ${edit}, ${unchanged} unchanged.`;
  const rest = leftAlone.map((each) => `${each.kind} ${nameOf(each)}`);
  const rows = keys.map(({ tenant, label, id, key }) => [tenant, label, id, key]);
  const table = formatTable(['TENANT', 'LABEL', 'ID', 'KEY'], rows);
  const lines = [
    ...columns(changes.map(lineOf)),
    steps.length === 0 ? `Nothing to change: ${unchanged} unchanged.` : counts,
    ...(rest.length === 0
      ? []
      : [`Not in the file, and left alone: ${list(rest, ', ', { over: 8, shown: 5 })}.`]),
    ...(keys.length === 0 ? [] : ['This is the only time the keys are shown:', table]),
  ];
  const data = { dry_run: dryRun, changes, unchanged, left_alone: leftAlone, ...(dryRun ? {} : { keys }) };
  return { data, result: lines.join('\n') };
}

/** The address of notices may hold a secret, which a log of applications must not: its origin stands for it. */
function withoutPaths({ fields, ...change }: Change): Change {
  const { notice_url: url, ...others } = fields;
  const shown = url && {
    notice_url: {
      before: originOf(url.before as string | null),
      after: originOf(url.after as string | null),
    },
  };
  return { ...change, fields: { ...others, ...shown } };
}

function nameOf({ tenant, name }: Pick<Change, 'tenant' | 'name'>): string {
  return tenant === undefined ? name : `${tenant}/${name}`;
}

function lineOf({ kind, action, fields, ...named }: Change): string[] {
  const isNew = action === 'add';
  const shown = Object.entries(fields).map(([field, { before, after }]) => {
    if (field === 'definition') return isNew ? '' : 'definition';
    return `${field} ${isNew ? '' : `${show(before)} → `}${show(after)}`;
  });
  return [isNew ? '+' : '~', kind, nameOf(named), shown.filter(Boolean).join(', ')];
}

function show(value: unknown): string {
  if (value === null) return 'none';
  return Array.isArray(value) ? value.join(' ') : String(value);
}
