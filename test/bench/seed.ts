/**
 * Fills an empty database with a gateway's life: by default 500 tenants, 5,000 keys and 400 days of usage, the same each time.
 *
 *     node dist/test/bench/seed.js --data DIR | --database URL [--tenants N] [--keys N] [--days N] [--seed N]
 *
 * Then `HELPER_DATA_DIR=DIR npm start` or `DATABASE_URL=URL npm start` serves it; it prints who signs in.
 */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Plan } from '../../gateway/keys/model.js';
import { hashPassword } from '../../gateway/site/accounts/account.js';
import { type BulkWriter, insertRows, openBulkWriter, type Row, type SeedPlace } from './seed/bulk.js';
import { createDraw, type Draw } from './seed/draw.js';
import { drawJobs } from './seed/jobs.js';
import { drawNotices } from './seed/notices.js';
import { drawPeople, operatorEmail } from './seed/people.js';
import { dayMs, drawTenants, plansOf, type SeedSize, type SeedTenant } from './seed/tenants.js';
import { dailyNames, dayOf, drawUsage, failureNames, sumColumns } from './seed/usage.js';

const fullSize: Omit<SeedSize, 'now'> = { tenants: 500, keys: 5_000, days: 400, seed: 23 };

/** Of every account. */
const password = 'seeded correct horse battery';

export type Seeded = Awaited<ReturnType<typeof seed>>;

/** Fills an empty database; gives the operator's sign-in and all tenants with their keys, the busiest first. */
export async function seed(place: SeedPlace, size: Partial<SeedSize> = {}) {
  const whole: SeedSize = { ...fullSize, now: Date.now(), ...size };
  const { now } = whole;
  const draw = createDraw(whole.seed);
  const writer = await openBulkWriter(place);
  const { tenants, audit } = drawTenants(draw, whole);
  await insertRows(writer, 'plans', plansOf(now).map(planRow));
  await insertRows(
    writer,
    'tenants',
    tenants.map(({ row }) => row),
  );
  await writeUsage(writer, draw, tenants, whole);
  const keys = tenants.flatMap((tenant) => tenant.keys);
  await insertRows(
    writer,
    'keys',
    keys.map(({ row }) => row),
  );
  await insertRows(
    writer,
    'secrets',
    keys.flatMap(({ secrets }) => secrets.map((secret) => ({ ...secret }))),
  );
  const people = drawPeople(draw, tenants, await hashPassword(password), now);
  await insertRows(writer, 'connect_users', people.users);
  await insertRows(writer, 'connect_operators', people.operators);
  await insertRows(writer, 'connect_members', people.members);
  await insertRows(writer, 'connect_readers', people.readers);
  await insertRows(writer, 'connect_invitations', people.invitations);
  await insertRows(writer, 'connect_sessions', people.sessions);
  await insertRows(writer, 'connect_tokens', people.tokens);
  const entries = [...audit, ...people.audit].sort((a, b) => a.at - b.at);
  await insertRows(
    writer,
    'audit',
    entries.map((entry) => ({ ...entry, detail: JSON.stringify(entry.detail) })),
  );
  const { jobs, items, held } = drawJobs(draw, tenants, now);
  await insertRows(writer, 'jobs', jobs);
  await insertRows(writer, 'job_items', items);
  await insertRows(writer, 'job_tenants', held);
  await insertRows(writer, 'recipes', drawRecipes(draw, tenants, now));
  await insertRows(writer, 'notices', drawNotices(draw, tenants, now));
  await writer.finish();
  return { operator: { email: operatorEmail, password }, tenants };
}

function planRow({ limits, ...rest }: Plan): Row {
  return { ...rest, ...limits };
}

/** Writes the figures of all tenants, and notes in their keys when they were last used. */
async function writeUsage(writer: BulkWriter, draw: Draw, tenants: readonly SeedTenant[], size: SeedSize) {
  const month = dayOf(size.now).slice(0, 7);
  for (const [rank, tenant] of tenants.entries()) {
    const { daily, failed, requests, use } = drawUsage(draw, tenant, rank, size);
    await writer.insert('usage_daily', [...dailyNames, ...sumColumns], daily);
    await writer.insert('usage_failures', [...failureNames, ...sumColumns], failed);
    await insertRows(writer, 'requests', requests);
    for (const { row } of tenant.keys) row.last_used_at = use.lastUsed.get(row.id) ?? null;
    const quotas = [...use.calls].map(([account, used]) => ({ tenant: account, month, used }));
    const cpu = [...use.cpuMs].map(([of, ms]) => ({
      tenant: `${of} cpu`,
      month,
      used: Math.round(ms * 1_000),
    }));
    await insertRows(writer, 'quota_use', [...quotas, ...cpu]);
  }
  const sums = sumColumns.map((column) => `sum(${column})`).join(', ');
  const rollUp = (to: string, names: string, from: string, selected: string, by: string) =>
    writer.run(
      `insert into ${to} (${names}, ${sumColumns.join(', ')}) select ${selected}, ${sums} from ${from} group by ${by}`,
    );
  const names = 'tenant, day, service';
  await rollUp('usage_rollup', names, 'usage_daily', names, names);
  await rollUp('usage_rollup', names, 'usage_rollup', "tenant, day, ''", 'tenant, day');
  await rollUp(
    'usage_rollup',
    names,
    'usage_rollup',
    "'', day, service",
    "day, service having service <> ''",
  );
  const codes = 'tenant, day, key_id, service, code';
  const grouped = "'', day, '', service, code";
  await rollUp('usage_failures', codes, 'usage_failures', grouped, 'day, service, code');
}

function drawRecipes(draw: Draw, tenants: readonly SeedTenant[], now: number): Row[] {
  const names = ['product-card', 'thumbnail', 'hero', 'avatar', 'press-photo'];
  return tenants.flatMap(({ row }, rank) => {
    if (rank > 2 && !draw.chance(0.12)) return [];
    return draw.some(names, draw.whole(1, 4)).map((name): Row => {
      const width = draw.whole(2, 16) * 100;
      const step = { use: 'media/resize', width: '{width}', height: '{width}', fit: 'cover' };
      const input = { width: { default: width, maximum: 1_600 } };
      const definition = { summary: `Our ${name.replace('-', ' ')}`, input, steps: [step], format: 'webp' };
      const at = Math.round(now - draw.share() * 200 * dayMs);
      const times = { created_at: at, updated_at: at };
      return { tenant_id: row.id, name, definition: JSON.stringify(definition), ...times };
    });
  });
}

async function run(): Promise<void> {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ data: { type: 'string' }, database: { type: 'string' } },
      ...{ tenants: number, keys: number, days: number, seed: number },
    },
  });
  const { data, database, ...sizes } = values;
  if ((data === undefined) === (database === undefined)) {
    throw new Error('give --data DIR or --database URL, of which the database is empty');
  }
  const began = performance.now();
  const size = Object.fromEntries(Object.entries(sizes).map(([name, value]) => [name, Number(value)]));
  const place = database === undefined ? { dataDir: data ?? '' } : { databaseUrl: database };
  const { operator, tenants } = await seed(place, size);
  const keys = tenants.flatMap((tenant) => tenant.keys);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `${tenants.length} tenants and ${keys.length} keys in ${seconds} s; ` +
      `sign in as ${operator.email} with "${operator.password}"; a key: ${keys[0]?.text}`,
  );
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await run();
