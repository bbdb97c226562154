import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createBatchWriter } from '../../../gateway/database/batch-writer.js';
import { GatewayError, inputError } from '../../../gateway/errors.js';
import { createOutboundBudget } from '../../../gateway/http/outbound-budget.js';
import type { ItemView, JobView } from '../../../gateway/jobs/jobs.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';
import { openNotices } from '../../../gateway/notices/watch.js';
import type { RecipeTrial } from '../../../gateway/recipes/preview.js';
import { createFirstOperator } from '../../../gateway/site/accounts/account.js';
import { createSiteApp } from '../../../gateway/site/app.js';
import type { SiteOptions } from '../../../gateway/site/site.js';
import type { SiteDatabase, SiteTables } from '../../../gateway/site/tables.js';
import { createUsageMeter } from '../../../gateway/usage/meter.js';
import type { UsageRow } from '../../../gateway/usage/report.js';
import { createUsageReports } from '../../../gateway/usage/reports.js';
import type { UsageRecord } from '../../../gateway/usage/store.js';
import type { BodyAnswer } from '../../../pool/answer.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { signing } from '../signing/signing.js';
import './quick-passwords.js';

export const operatorToken = 'operator-token-for-tests-of-32-characters';

export const services = [
  { id: 'media/add-border', summary: 'Adds a solid border of one colour to an image.', picture: true },
  { id: 'media/add-watermark', summary: 'Draws a line of text on an image.', picture: true },
  { id: 'text/diff-two-strings', summary: 'Compares two texts line by line.', picture: false },
  { id: 'text/remove-stopwords', summary: 'Removes words that carry little meaning.', picture: false },
];

export type TestSite = Awaited<ReturnType<typeof openTestSite>>;

export type OpenedSiteDatabase = SiteDatabase & { close(): Promise<void> };

/** A handle of its own on a store's database, and a way to close it. */
export async function openConnectDatabase(database: TestDatabase): Promise<OpenedSiteDatabase> {
  const opened = await database.connect();
  return { ...opened.access<SiteTables>(), close: () => opened.close() };
}

/** Somebody at a browser. */
export const client = { address: '192.0.2.1', agent: 'a browser', cookie: '' };

/** For signing in without a site. */
export const signInSettings = {
  secret: 's'.repeat(43),
  baseUrl: 'http://127.0.0.1:8081',
  secureCookies: false,
  factor: { pass: async () => false },
  logger: { warn() {} },
};

const defaults = { rate: 50, burst: 100, monthly_quota: null, in_flight: 16, monthly_cpu_ms: null };

/** A running site on a database of its own, with everything that a test looks at. */
export async function openTestSite(changes: Partial<SiteOptions> = {}, given?: TestDatabase) {
  const database = given ?? (await createSqliteDatabase());
  const store = await database.open();
  const connect = await openConnectDatabase(database);
  const operator = await createFirstOperator(connect);
  if (!operator) throw new Error('a new database has an operator');
  const usage = new Map<string, UsageRow[]>();
  const recorded = await database.connect();
  const writer = createBatchWriter({ access: recorded.access(), logger: pino({ level: 'silent' }) });
  const requests = { most: 1000, ttlSeconds: 86_400 };
  const meter = createUsageMeter({
    access: recorded.access(),
    writer,
    logger: pino({ level: 'silent' }),
    requests,
  });
  const reports = createUsageReports({ access: recorded.access(), store, requests });
  const jobs: SampleJob[] = [];
  const logs: string[] = [];
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outbound = createOutboundBudget({ bytes: 2 ** 28, onRoom: () => undefined });
  const admin = createKeyAdmin({
    store,
    signing,
    compileRecipe,
    services: () => services.map(({ id }) => id),
    defaults,
  });
  const notices = openNotices({
    ...{ config: { webhookOrigins: [] }, access: (await database.connect()).access(), secrets: signing },
    ...{ wake() {}, logger: pino({ level: 'silent' }) },
  });
  const app = await createSiteApp({
    admin,
    store,
    signing,
    database: connect,
    usage: async (tenant) => ({ rows: usage.get(tenant) ?? [] }),
    reports,
    defaults,
    jobs: jobsOf(jobs),
    notices,
    operatorToken,
    baseUrl: url,
    apiUrl: 'http://127.0.0.1:8080',
    preview: previewOf,
    services: () => services,
    metrics: async () => ({ type: 'text/plain; version=0.0.4', body: 'gateway_calls_total 0\n' }),
    health: () => [
      { name: 'Image engine', value: 'sharp', state: 'good' },
      { name: 'Key database', value: 'SQLite, answering', state: 'good' },
      { name: 'Limits', value: 'in memory', state: 'good' },
      { name: 'Workers', value: '2, none waiting', state: 'good' },
    ],
    logger: pino({ level: 'trace' }, { write: (line: string) => logs.push(line) }),
    secureCookies: false,
    outbound,
    ...changes,
  });
  server.on('request', app.callback());
  const verifier = createKeyVerifier({ store });
  return {
    ...{ url, admin, store, verifier, connect, operator, notices },
    /** What usage answers, by tenant id. */
    usage,
    reports,
    /** Counts and stores calls. */
    async record(...calls: readonly Partial<UsageRecord>[]) {
      const bytes = { bytesIn: 2_100, bytesOut: 184_000, cpuMs: 61.5 };
      for (const [at, call] of calls.entries())
        meter.record({ ...sampleCall, requestId: `request-${at}`, ...bytes, ...call });
      await writer.flush();
    },
    /** Of all tenants. */
    jobs,
    /** Every log line so far. */
    logs,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      outbound.close();
      await verifier.close();
      await writer.close();
      await recorded.close();
      await connect.close();
      await database.drop();
    },
  };
}

const sampleCall = {
  tenant: 'ten_1',
  key: 'key_1',
  service: 'media/add-border',
  status: 200,
  code: 'ok',
  ms: 80,
};

/** A red pixel, where the definition has steps. */
async function previewOf({ definition, input }: RecipeTrial): Promise<BodyAnswer> {
  const { problems } = compileRecipe('recipes/preview', definition);
  if (problems.length > 0) throw inputError(problems);
  if (input.url !== undefined) throw new GatewayError('source_failed');
  return { kind: 'bytes', type: 'image/gif', bytes: Buffer.from(pixel, 'base64') };
}

const pixel = 'R0lGODdhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=';

/** Opens a site for the length of `use`. */
export async function withTestSite(
  changes: Parameters<typeof openTestSite>[0],
  use: (site: TestSite) => Promise<void>,
  database?: TestDatabase,
): Promise<void> {
  const site = await openTestSite(changes, database);
  try {
    await use(site);
  } finally {
    await site.close();
  }
}

/** A site that is opened before the tests of the suite around, and closed after them. */
export function useTestSite(changes?: Parameters<typeof openTestSite>[0]): TestSite {
  const site = {} as TestSite;
  before(async () => {
    Object.assign(site, await openTestSite(changes));
  });
  after(() => site.close());
  return site;
}

/** A tenant's job with its items, as the site is given them. */
type SampleJob = { tenantId: string; job: JobView; items: ItemView[] };

/** Jobs that are just these; one that is cancelled has ended. */
function jobsOf(samples: readonly SampleJob[]): SiteOptions['jobs'] {
  function find(tenantId: string, id: string): SampleJob {
    const found = samples.find((each) => each.tenantId === tenantId && each.job.id === id);
    if (!found) throw new GatewayError('not_found');
    return found;
  }
  return {
    async list(tenantId, { limit, after, state }) {
      const ofTenant = samples.filter((each) => each.tenantId === tenantId).map(({ job }) => job);
      const own = ofTenant.filter((job) => state === undefined || job.state === state);
      const from = after === undefined ? 0 : own.findIndex(({ id }) => id === after) + 1;
      const jobs = own.slice(from, from + limit);
      return { jobs, previous: null, next: from + limit < own.length ? (jobs.at(-1)?.id ?? null) : null };
    },
    job: async (tenantId, id) => find(tenantId, id).job,
    async items(tenantId, id, { limit, after = -1 }) {
      const left = find(tenantId, id).items.filter(({ index }) => index > after);
      const items = left.slice(0, limit);
      return { items, next: left.length > limit ? (items.at(-1)?.index ?? null) : null };
    },
    async cancel(tenantId, id) {
      const { job } = find(tenantId, id);
      const waiting = job.total - job.done - job.failed;
      Object.assign(job, { state: 'cancelled', cancelled: waiting, finished_at: new Date().toISOString() });
      return job;
    },
  };
}

export function sampleJob(tenantId: string, changes: Partial<JobView> = {}, items: ItemView[] = []) {
  const job: JobView = {
    id: 'job_4fGhJ2kLm9pQ',
    service: 'media/add-border',
    state: 'running',
    total: 40,
    done: 10,
    failed: 2,
    cancelled: 0,
    created_at: '2026-11-01T10:00:00.000Z',
    finished_at: null,
    expires_at: null,
    ...changes,
  };
  return { tenantId, job, items };
}

/** One item of each kind. */
export const sampleItems: ItemView[] = [
  {
    index: 0,
    state: 'done',
    result: { type: 'image/png', bytes: 90_210, url: '/jobs/job_4fGhJ2kLm9pQ/items/0' },
  },
  {
    index: 1,
    state: 'failed',
    error: {
      code: 'invalid_input',
      message: 'The input is not valid; see details.',
      details: [{ field: 'width', problem: 'must be a whole number of pixels, but is the string "abc"' }],
    },
  },
  {
    index: 2,
    state: 'failed',
    error: { code: 'source_timeout', message: 'The server behind the url did not deliver in time.' },
  },
  { index: 3, state: 'running' },
  { index: 4, state: 'waiting' },
  { index: 5, state: 'cancelled' },
];

/** A month of calls of one key, the same each time. */
export function sampleUsage(key: string, days = 30): UsageRow[] {
  return Array.from({ length: days }, (_, ago) => {
    const day = new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    return services.map(({ id }, index) => {
      const calls = Math.round(40 + 30 * Math.sin(ago / 3 + index) + index * 25);
      return {
        day,
        key,
        service: id,
        calls,
        errors: ago % 7 === 0 ? 3 : 0,
        ...{ errors_client: 0, errors_limited: 0, errors_server: 0 },
        bytes_in: calls * 2_100,
        bytes_out: calls * (id.startsWith('media') ? 184_000 : 900),
        cpu_ms: id.startsWith('media') ? calls * 61.5 : 0,
      };
    });
  }).flat();
}
