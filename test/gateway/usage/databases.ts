import type { Kysely } from 'kysely';
import { openDatabase } from '../../../gateway/database/database.js';
import type { UsageTables } from '../../../gateway/usage/tables.js';
import {
  createPostgresDatabase,
  createSqliteDatabase,
  type TestDatabase as GatewayDatabase,
  postgresFault,
} from '../databases.js';

/** Says how to reach a test database; also from another process, as JSON. */
export type DatabaseAddress = Pick<GatewayDatabase, 'kind' | 'location'>;

export interface TestDatabase {
  address: DatabaseAddress;
  /** A further connection, as a gateway opens it; its user destroys it. */
  connect(): Promise<Kysely<UsageTables>>;
  remove(): Promise<void>;
}

export async function connect({ kind, location }: DatabaseAddress): Promise<Kysely<UsageTables>> {
  const where = kind === 'sqlite' ? { dataDir: location } : { dataDir: '', databaseUrl: location };
  return (await openDatabase(where)).db;
}

function testDatabase({ kind, location, drop }: GatewayDatabase): TestDatabase {
  const address = { kind, location };
  return { address, connect: () => connect(address), remove: drop };
}

/** Each kind of database, to run one suite on; `open` gives a fresh one, or undefined where there is no server. */
export const databases = [
  { name: 'SQLite', open: async () => testDatabase(await createSqliteDatabase()) },
  {
    name: 'PostgreSQL',
    open: async () =>
      (await postgresFault()) === undefined ? testDatabase(await createPostgresDatabase()) : undefined,
  },
] as const;
