import { join } from 'node:path';
import { expect } from 'chai';
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { createAccess, type DatabaseKind, type NoTables } from '../../../../gateway/database/access.js';
import { openConnection } from '../../../../gateway/database/sqlite-connection.js';
import { SqliteConnectionDialect } from '../../../../gateway/database/sqlite-dialect.js';
import type { JobStore } from '../../../../gateway/jobs/store/job-store.js';
import { createJobStore } from '../../../../gateway/jobs/store/sql-store.js';
import { onEachDatabase } from '../../databases.js';
import { storeJob } from './stored-jobs.js';

/** What every process asks again and again, or at each request for a job, and the index by which PostgreSQL and SQLite find it. */
const looks: Record<string, { ask: (store: JobStore) => Promise<unknown>; by: string[] }> = {
  'items for the queue': {
    ask: (store) => store.unqueued({ most: 500, ahead: 500, idleMs: 1_000 }),
    by: ['jobs_open'],
  },
  'tenants with open jobs': { ask: (store) => store.openTenants(), by: ['jobs_open'] },
  'figures for the metrics': { ask: (store) => store.stats(), by: ['jobs_open'] },
  'jobs that are to be forgotten': { ask: (store) => store.expired(5, { most: 20 }), by: ['jobs_ended'] },
  'jobs with inputs that are to be removed': { ask: (store) => store.uncleared(20), by: ['jobs_holding'] },
  'what a tenant’s jobs hold': { ask: (store) => store.held('ten_1'), by: ['jobs_holding'] },
};

const columns =
  'id, tenant_id, key_id, service, bytes, created_at, moved_at, finished_at, total, unqueued, started, running, done, failed, cancelled';
const values = `'ten_' || (x % 50), 'k', 's', 0, 1, 1, 1000 + x, 1, 0, 1, 0, 1, 0, 0`;
/** Makes 20,000 jobs that have ended. */
const seed = {
  sqlite: `with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
    insert into jobs (${columns}) select 'job_' || x, ${values} from c`,
  postgres: `insert into jobs (${columns}) select 'job_' || x, ${values} from generate_series(1, 20000) as c(x)`,
};

describe('jobs/store, with many jobs that are kept', () =>
  onEachDatabase(
    (files) => {
      for (const [what, { ask, by }] of Object.entries(looks)) {
        it(`finds ${what} without looking at the others`, async () => {
          const { kind, location, connect } = files();
          await connect();
          const asked: CompiledQuery[] = [];
          const db = new Kysely<NoTables>({
            dialect:
              kind === 'sqlite'
                ? new SqliteConnectionDialect(openConnection(join(location, 'gateway.db')))
                : new PostgresDialect({ pool: new pg.Pool({ connectionString: location }) }),
            log: ({ query }) => void asked.push(query),
          });
          try {
            await sql.raw(seed[kind]).execute(db);
            // As PostgreSQL does by itself, a minute later.
            if (kind === 'postgres') await sql`analyze jobs`.execute(db);
            const store = createJobStore(createAccess(db, kind)());
            await storeJob(store, 1);
            asked.length = 0;
            await ask(store);
            const own = asked.filter((query) => query.sql.includes('"jobs"'));
            const found = new Set<string>();
            for (const query of own) for (const index of await indexesOf(db, kind, query)) found.add(index);
            found.delete('the key');
            expect([...found]).to.deep.equal(by);
          } finally {
            await db.destroy();
          }
        });
      }
    },
    { ownThread: false },
  ));

/** By which indexes a query would read the jobs. */
async function indexesOf(
  db: Kysely<NoTables>,
  kind: DatabaseKind,
  { sql: text, parameters, query, queryId }: CompiledQuery,
): Promise<string[]> {
  const explain = kind === 'sqlite' ? 'explain query plan' : 'explain';
  const asked = { sql: `${explain} ${text}`, parameters, query, queryId };
  const { rows } = await db.executeQuery<{ detail?: string; 'QUERY PLAN'?: string }>(asked);
  return rows.flatMap((row) => {
    const line = row.detail ?? row['QUERY PLAN'] ?? '';
    if (!/(?:SCAN|SEARCH) jobs\b|Seq Scan on jobs\b|Index (?:Only )?Scan/.test(line)) return [];
    const index = /(?:INDEX|Scan using|Index Scan on) (\w+)/.exec(line)?.[1] ?? 'none';
    return /autoindex|pkey/.test(index) ? ['the key'] : [index];
  });
}
