import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createDepartures } from '../../../gateway/http/flow/departures.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { type Credentials, createFirstOperator } from '../../../gateway/site/accounts/first-operator.js';
import { createSiteApp } from '../../../gateway/site/app.js';
import { createSiteDatabase, type SiteDatabase } from '../../../gateway/site/database.js';
import type { SiteOptions, UsageRow } from '../../../gateway/site/options.js';
import { createSqliteDatabase, type OpenedStore, type TestDatabase } from '../databases.js';
import './quick-passwords.js';
import { signing } from '../signing/signing.js';
import { jobsOf, type SampleJob } from './sample-jobs.js';

export const operatorToken = 'operator-token-for-tests-of-32-characters';

export const services = [
  { id: 'media/add-border', summary: 'Adds a solid border of one colour to an image.', picture: true },
  { id: 'media/add-watermark', summary: 'Draws a line of text on an image.', picture: true },
  { id: 'text/diff-two-strings', summary: 'Compares two texts line by line.', picture: false },
  { id: 'text/remove-stopwords', summary: 'Removes words that carry little meaning.', picture: false },
];

/** A running site on a database of its own, with everything that a test looks at. */
export interface TestSite {
  url: string;
  admin: KeyAdmin;
  store: OpenedStore;
  verifier: KeyVerifier;
  connect: SiteDatabase;
  operator: Credentials;
  /** What usage answers, by tenant id. */
  usage: Map<string, UsageRow[]>;
  /** What there is of jobs, of all tenants. */
  jobs: SampleJob[];
  /** Every log line so far. */
  logs: string[];
  /** Ends and begins the process's part, on the same database. */
  close(): Promise<void>;
}

/** A handle of its own on a store's database, and a way to close it. */
export async function openConnectDatabase(database: TestDatabase): Promise<SiteDatabase> {
  return createSiteDatabase(await database.connect());
}

export async function openTestSite(
  changes: Partial<SiteOptions> = {},
  given?: TestDatabase,
): Promise<TestSite> {
  const database = given ?? (await createSqliteDatabase());
  const store = await database.open();
  const connect = await openConnectDatabase(database);
  const operator = await createFirstOperator(connect);
  if (!operator) throw new Error('a new database has an operator');
  const usage = new Map<string, UsageRow[]>();
  const jobs: SampleJob[] = [];
  const logs: string[] = [];
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outbound = createDepartures({ bytes: 2 ** 28, onRoom: () => undefined });
  const admin = createKeyAdmin({ store, signing, services: () => services.map(({ id }) => id) });
  const app = await createSiteApp({
    admin,
    store,
    signing,
    database: connect,
    usage: async (tenant) => ({ rows: usage.get(tenant) ?? [] }),
    jobs: jobsOf(jobs),
    operatorToken,
    baseUrl: url,
    apiUrl: 'http://127.0.0.1:8080',
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
    url,
    admin,
    store,
    verifier,
    connect,
    operator,
    usage,
    jobs,
    logs,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      outbound.close();
      await verifier.close();
      await connect.handle.destroy();
      await database.drop();
    },
  };
}
