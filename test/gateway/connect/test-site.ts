import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Kysely, PostgresDialect } from 'kysely';
import Database from 'libsql';
import pg from 'pg';
import { pino } from 'pino';
import { createConnectApp } from '../../../gateway/connect/app.js';
import { type Credentials, createFirstOperator } from '../../../gateway/connect/auth/first-operator.js';
import { type ConnectDatabase, createConnectDatabase } from '../../../gateway/connect/database.js';
import type { ConnectParts, UsageRow } from '../../../gateway/connect/parts.js';
import { LibsqlDialect } from '../../../gateway/database/sqlite-dialect.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import type { KeyStore } from '../../../gateway/keys/store.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';

export const TOKEN = 'operator-token-for-tests-of-32-characters';

export const services = [
  { id: 'media/add-border', summary: 'Adds a solid border of one colour to an image.' },
  { id: 'media/add-watermark', summary: 'Draws a line of text on an image.' },
  { id: 'text/diff-two-strings', summary: 'Compares two texts line by line.' },
  { id: 'text/remove-stopwords', summary: 'Removes words that carry little meaning.' },
];

/** A running site on a database of its own, with everything that a test looks at. */
export interface TestSite {
  url: string;
  admin: KeyAdmin;
  store: KeyStore;
  verifier: KeyVerifier;
  connect: ConnectDatabase;
  operator: Credentials;
  /** What usage answers, by tenant id. */
  usage: Map<string, UsageRow[]>;
  /** Every log line so far. */
  logs: string[];
  /** Ends and begins the process's part, on the same database. */
  close(): Promise<void>;
}

/** A handle of its own on a store's database, and a way to close it. */
export async function openConnectDatabase(database: TestDatabase): Promise<ConnectDatabase> {
  const { kind, location } = database;
  const dialect =
    kind === 'sqlite'
      ? new LibsqlDialect(new Database(join(location, 'gateway.db')))
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: location, max: 4 }) });
  return createConnectDatabase(new Kysely({ dialect }), kind);
}

export async function openTestSite(
  changes: Partial<ConnectParts> = {},
  given?: TestDatabase,
): Promise<TestSite> {
  const database = given ?? (await createSqliteDatabase());
  const store = await database.open();
  const connect = await openConnectDatabase(database);
  const operator = await createFirstOperator(connect);
  if (!operator) throw new Error('a new database has an operator');
  const usage = new Map<string, UsageRow[]>();
  const logs: string[] = [];
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const admin = createKeyAdmin({ store, services: () => services.map(({ id }) => id) });
  const app = await createConnectApp({
    admin,
    store,
    database: connect,
    usage: async (tenant) => ({ rows: usage.get(tenant) ?? [] }),
    operatorToken: TOKEN,
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
    logs,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await verifier.close();
      await connect.handle.destroy();
      await database.drop();
    },
  };
}
