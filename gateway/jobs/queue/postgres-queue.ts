import pg from 'pg';
import type { Logger } from 'pino';
import { poolLimits } from '../../database/postgres.js';
import { reasonOf } from '../../database/store-error.js';
import { backendOptions, createBullmqQueue } from './bullmq-queue.js';
import { defaultLeaseMs, type JobQueue } from './job-queue.js';

interface PostgresQueueOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  logger: Pick<Logger, 'debug'>;
  leaseMs?: number;
}

/** Beside those of the database itself. */
const connections = 3;
/** BullMQ needs as much. */
const oldestVersion = 13;
/** Another process may be at it: it makes all tables of a new database in a second or two. */
const migrationTimeoutMs = 60_000;

/**
 * A queue on PostgreSQL, over a few connections for all tenants. BullMQ's tables have a schema of their own, named after the first one
 * of the search path. They are brought up to date here, before the first request: BullMQ itself would not stop asking.
 */
export async function openPostgresQueue(options: PostgresQueueOptions): Promise<JobQueue> {
  const { url, logger, leaseMs = defaultLeaseMs } = options;
  try {
    const schema = await prepare(url);
    const { PostgresConnection, PostgresQueueBackend } = await import('bullmq');
    const pool = { ...poolOptions(url, schema), schema, skipVersionCheck: true };
    const connection = new PostgresConnection(pool);
    connection.on('error', (error) => logger.debug({ err: error }, 'connection of the queue lost'));
    const backend = { connection: connection.pool, ...backendOptions(leaseMs) };
    const root = new PostgresQueueBackend(connection, 'all', backend);
    // Without a listener, a connection lost while idle would end the process.
    root.on('error', () => {});
    try {
      await root.waitUntilReady();
    } catch (error) {
      await root.close();
      throw error;
    }
    return createBullmqQueue({ root, leaseMs, lanes: connections, close: () => root.close() }, '');
  } catch (error) {
    throw new Error(`PostgreSQL cannot be used for jobs: ${reasonOf(error)}`, { cause: error });
  }
}

/** The name of the schema of jobs beside one of a gateway. */
export function jobSchema(own: string): string {
  return own === 'public' ? 'helper_gateway_jobs' : `${own}_jobs`;
}

/** Makes BullMQ's tables or brings them up to date, which several processes may do at a time; gives their schema. */
async function prepare(url: string): Promise<string> {
  const bullmq = await import('bullmq');
  return withClient(url, async (client) => {
    await withClient(url, (other) => refusePooler(client, other));
    const { rows } = await client.query<{ schema: string | null; version: string }>(
      `select current_schema() as schema, current_setting('server_version_num') as version`,
    );
    const [row] = rows;
    if (!row?.schema) throw new Error('The search_path of this PostgreSQL user names no schema.');
    if (Number(row.version) < oldestVersion * 10_000) {
      throw new Error(`It is older than version ${oldestVersion}. Update it, or set REDIS_URL.`);
    }
    const schema = jobSchema(row.schema);
    // What it thinks of a version goes to the console.
    const quietly = { skipVersionCheck: true };
    const version = await bullmq.assertSchemaCompatibility(client, schema, quietly).catch((error) => {
      if (error instanceof bullmq.SchemaMigrationRequiredError) return 0;
      throw error;
    });
    // Asked first, since to make a schema needs a right that a gateway need not have for ever.
    if (version < bullmq.LATEST_SCHEMA_VERSION) await bullmq.runMigrations(client, schema, quietly);
    return schema;
  });
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3_000,
    query_timeout: migrationTimeoutMs,
    application_name: 'helper-gateway-jobs',
  });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** One that hands connections on after each transaction would hand on a search path too, to those who know nothing of it. */
export async function refusePooler(one: pg.Client, other: pg.Client): Promise<void> {
  const ask = 'select pg_backend_pid() as pid';
  const [first, second] = [(await one.query(ask)).rows[0].pid, (await other.query(ask)).rows[0].pid];
  // Both are open, so they are two to the server too, unless a pooler makes one of them.
  const remedy = 'Name the server itself, or a pooler in session mode.';
  if (first === second) throw new Error(`A pooler in transaction mode is between. ${remedy}`);
}

function poolOptions(url: string, schema: string) {
  // BullMQ sets the search path by the same option, and what stands in a url would go before it.
  const bare = new URL(url);
  const given = bare.searchParams.get('options');
  bare.searchParams.delete('options');
  return {
    connectionString: bare.href,
    ...(given === null ? {} : { options: given }),
    // Once more: a pooler in session mode drops the option, or is set to.
    verify(client: pg.Client, verified: (error?: Error) => void) {
      // Without a listener, a connection lost at the wrong moment would end the process.
      client.on('error', () => {});
      client.query(`set search_path to "${schema}"`, verified);
    },
    ...poolLimits,
    max: connections,
    application_name: 'helper-gateway-jobs',
  };
}
