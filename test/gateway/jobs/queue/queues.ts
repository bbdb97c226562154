import pg from 'pg';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { jobSchema, openPostgresQueue } from '../../../../gateway/jobs/queue/postgres-queue.js';
import { openRedisQueue } from '../../../../gateway/jobs/queue/redis-queue.js';
import { createSqliteQueue } from '../../../../gateway/jobs/queue/sqlite-queue.js';
import { skipWithout } from '../../../needs.js';
import {
  connect,
  createPostgresDatabase,
  createSqliteDatabase,
  requirePostgres,
  schemaOf,
} from '../../databases.js';
import { answers, forget, freshPrefix, REDIS_URL, withClient } from '../../limits/redis-servers.js';

/** Where queues keep their items; also for another process. */
export interface QueueAddress {
  kind: 'sqlite' | 'redis' | 'postgres';
  /** A data folder, a prefix, or a url. */
  location: string;
}

/** A place that is empty at first. */
export interface QueuePlace extends QueueAddress {
  /** One more process's view of it; closed by `drop` at the latest. */
  open(options?: { leaseMs?: number }): Promise<JobQueue>;
  /** How much lies there: rows, or keys. What BullMQ keeps of events counts where it is much. */
  left(): Promise<number>;
  /** Closes its queues and empties it. */
  clear(): Promise<void>;
  drop(): Promise<void>;
}

/** The kinds of places; `require` skips what follows where one cannot be had. */
export const queuePlaces = [
  { name: 'SQLite', require: () => {}, create: createSqlitePlace },
  { name: 'Redis', require: requireRedis, create: createRedisPlace },
  { name: 'PostgreSQL', require: requirePostgres, create: createPostgresPlace },
];

const logger = { debug() {}, info() {}, warn() {} };
const muchOfEvents = 1_000;

export async function openQueue(
  { kind, location }: QueueAddress,
  options: { leaseMs?: number } = {},
): Promise<JobQueue> {
  if (kind === 'redis') return openRedisQueue({ url: REDIS_URL, prefix: location, logger, ...options });
  if (kind === 'postgres') return openPostgresQueue({ url: location, logger, ...options });
  const database = await connect({ kind, location });
  const queue = createSqliteQueue(database.access(), options);
  return {
    ...queue,
    async close() {
      await queue.close();
      await database.close();
    },
  };
}

export async function requireRedis(this: Mocha.Context): Promise<void> {
  if (!(await answers(REDIS_URL))) skipWithout(this, `Redis (TEST_REDIS_URL, else ${REDIS_URL})`);
}

async function createSqlitePlace(): Promise<QueuePlace> {
  const database = await createSqliteDatabase();
  async function left(): Promise<number> {
    const access = (await database.connect()).access<{ job_queue: { place: number } }>();
    return (await access.run((db) => db.selectFrom('job_queue').select('place').execute())).length;
  }
  const { location, clear, drop } = database;
  return queuePlace({ kind: 'sqlite', location }, { left, clear, drop });
}

async function createRedisPlace(): Promise<QueuePlace> {
  const prefix = freshPrefix();
  async function left(): Promise<number> {
    return withClient(REDIS_URL, async (client) => {
      let count = 0;
      for (const key of await client.keys(`${prefix}*`)) {
        // One that is there for a moment after each look for lost leases.
        if (key.endsWith(':stalled-check')) continue;
        count += key.endsWith(':events') ? Math.floor((await client.xlen(key)) / muchOfEvents) : 1;
      }
      return count;
    });
  }
  const location = prefix.slice(0, -1);
  const clear = () => forget(REDIS_URL, prefix);
  return queuePlace({ kind: 'redis', location }, { left, clear, drop: clear });
}

async function createPostgresPlace(): Promise<QueuePlace> {
  const { location, clear, drop } = await createPostgresDatabase();
  const schema = jobSchema(schemaOf(location));
  async function left(): Promise<number> {
    const client = new pg.Client({ connectionString: location });
    await client.connect();
    try {
      const tables = await client.query('select tablename from pg_tables where schemaname = $1', [schema]);
      let count = 0;
      for (const { tablename } of tables.rows) {
        const { rows } = await client.query(`select count(*)::int as n from ${schema}.${tablename}`);
        count += tablename === 'event' ? Math.floor(rows[0].n / muchOfEvents) : rows[0].n;
      }
      return count;
    } finally {
      await client.end();
    }
  }
  return queuePlace({ kind: 'postgres', location }, { left, clear, drop });
}

function queuePlace(
  address: QueueAddress,
  { left, clear, drop }: Pick<QueuePlace, 'left' | 'clear' | 'drop'>,
): QueuePlace {
  const opened: JobQueue[] = [];
  async function close(): Promise<void> {
    for (const queue of opened.splice(0)) await queue.close();
  }
  return {
    ...address,
    left,
    async open(options) {
      const queue = await openQueue(address, options);
      opened.push(queue);
      return queue;
    },
    async clear() {
      await close();
      await clear();
    },
    async drop() {
      await close();
      await drop();
    },
  };
}

/** The longest rest between two beats: a test that went by shorter ones shows nothing where the machine has stalled for longer. */
export function createPulse() {
  const began = performance.now();
  let last = began;
  let longest = 0;
  return {
    beat() {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    },
    /** That which goes on counts too. */
    longest: () => Math.max(longest, performance.now() - last),
    /** Since it began. */
    ms: () => performance.now() - began,
  };
}

/** A logger that keeps what is said above `debug`. */
export function recorder() {
  let said: string[] = [];
  const keep = (_: unknown, message?: string) => {
    said.push(message ?? '');
  };
  return {
    logger: { debug() {}, info: keep, warn: keep },
    lines: () => said,
    clear() {
      said = [];
    },
  };
}
