import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '../../errors.js';
import type { JobTables } from './tables.js';

/** What a tenant's jobs hold, or may hold, in bytes. */
export interface JobBytes {
  /** Inputs, from a job's creation until they are removed at its end. The first job may always be made. */
  inputs: number;
  /** Results, until their jobs are forgotten. */
  results: number;
}

/** What a tenant's jobs hold, and what is likely to come. */
export interface HeldBytes extends JobBytes {
  /** What one of its latest results holds, on average. */
  aResult: number;
}

/** Jobs whose results predict those of the next ones. */
const latestJobs = 100;

export async function readHeld(db: Kysely<JobTables>, tenant: string): Promise<HeldBytes> {
  const inputs = await db
    .selectFrom('jobs')
    .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
    .where('tenant_id', '=', tenant)
    // A literal, or the index of these jobs is not used.
    .where(sql<boolean>`bytes > 0`)
    .executeTakeFirstOrThrow();
  const results = await db
    .selectFrom('job_tenants')
    .select('result_bytes')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst();
  const held = { inputs: inputs.bytes, results: results?.result_bytes ?? 0 };
  if (held.results === 0) return { ...held, aResult: 0 };
  const latest = await db
    .selectFrom('jobs')
    .select(['result_bytes', 'done'])
    .where('tenant_id', '=', tenant)
    .orderBy('id', 'desc')
    .limit(latestJobs)
    .execute();
  const sumOf = (of: 'result_bytes' | 'done') => latest.reduce((sum, job) => sum + job[of], 0);
  return { ...held, aResult: sumOf('result_bytes') / Math.max(1, sumOf('done')) };
}

/** Throws `tenant_busy` where a tenant that holds so much may not have a job with so many bytes of inputs. */
export function requireCapacity(held: HeldBytes, bytes: number, most: JobBytes): void {
  // Where the next result has no room, its item would fail.
  if (held.results >= most.results || held.results + held.aResult > most.results) {
    const message = `The results of your jobs hold ${held.results} bytes, and may hold ${most.results}. Delete jobs that have ended, or wait until they expire.`;
    throw new GatewayError('tenant_busy', { message, retryAfter: 60 });
  }
  if (held.inputs === 0 || held.inputs + bytes <= most.inputs) return;
  const message = 'Too much of your jobs has not been worked on yet; ask again when some of it has ended.';
  throw new GatewayError('tenant_busy', { message, retryAfter: 10 });
}

/** Locks the tenant's row, so that its jobs are made and forgotten one after another; before rows of `jobs`. */
export async function addResultBytes(trx: Transaction<JobTables>, tenant: string, bytes: number) {
  await sql`
    insert into job_tenants (tenant_id, result_bytes) values (${tenant}, ${Math.max(0, bytes)})
    on conflict (tenant_id) do update set result_bytes = job_tenants.result_bytes + ${sql.lit(bytes)}
  `.execute(trx);
}
