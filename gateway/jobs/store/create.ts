import { type Kysely, sql, type Transaction } from 'kysely';
import type { Access } from '../../database/database.js';
import { givenRows, rowsPerTransaction } from '../../database/rows.js';
import type { ItemInput, Job } from '../model.js';
import { addResultBytes, type JobBytes, readHeld, requireCapacity } from './capacity.js';
import { type Fields, inputText, type JobTables, jobColumns } from './tables.js';

/** A job that is to be made. Its id is of `createJobId`: the newest jobs are found by it. */
export interface NewJob extends Pick<Job, 'id' | 'tenant_id' | 'key_id' | 'service' | 'webhook_url'> {
  /** The client's name for its request, and a digest of the request: the same again makes no second job. */
  idempotency?: { key: string; digest: string };
  bytes?: number;
  /** Whether there are files among its inputs, which stay until `cleared` names the job; there are none by default. */
  files?: boolean;
}

export type Created =
  /** `isNext`: no other job of the tenant has items that are still to be handed to the queue. */
  | { outcome: 'created'; job: Job; isNext: boolean }
  | { outcome: 'replayed'; job: Job }
  /** Another request had this idempotency key. */
  | { outcome: 'conflict' };

/** Characters of input that one statement is given, beyond its last row: what a thread is handed at a time. */
const charactersPerStatement = 250_000;

/** Makes jobs, each with all its items. */
export function createMaking({ run, change, kind }: Access<JobTables>, now: () => number) {
  return {
    /**
     * Makes a job with its items, at least one, whole or not at all, or finds the one that its idempotency key has made. `fields` that
     * are the same list in all inputs are stored once. Rejects with `tenant_busy` where the tenant's jobs would then hold more than `most`.
     */
    async create(job: NewJob, inputs: readonly ItemInput[], most?: JobBytes): Promise<Created> {
      const { tenant_id, bytes = 0 } = job;
      const fields = inputs[0]?.fields;
      const shared = inputs.every((input) => input.fields === fields) ? fields : undefined;
      for (;;) {
        const created = await change(async (trx): Promise<Created | undefined> => {
          // Locks what the tenant's jobs hold: of several that come at once, each counts those before it.
          if (most) await addResultBytes(trx, tenant_id, 0);
          const row = await insertJob(trx, job, { total: inputs.length, shared, now: now() });
          if (!row) return findMade(trx, job);
          if (most) {
            const held = await readHeld(trx, tenant_id);
            requireCapacity({ ...held, inputs: held.inputs - bytes }, bytes, most);
          }
          for (const rows of rowBatches(job.id, inputs, shared)) {
            await sql`
              insert into job_items (job_id, idx, state, queued, attempts, input)
              select value ->> 0, cast(value ->> 1 as integer), 'waiting', 0, 0, value ->> 2
              from ${givenRows(kind, rows)}
            `.execute(trx);
          }
          const before = await trx
            .selectFrom('jobs')
            .select('id')
            .where((eb) => eb.and({ tenant_id, finished_at: null }))
            .where('unqueued', '>', 0)
            .where('id', '!=', job.id)
            .limit(1)
            .executeTakeFirst();
          return { outcome: 'created', job: row, isNext: !before };
        });
        // The other job was forgotten between the two statements: the key is free now.
        if (created) return created;
      }
    },

    /** What `create` would return for an idempotency key, whose job has not ended at `endedAfter` or before. */
    made: (tenant_id: string, idempotency: NonNullable<NewJob['idempotency']>, endedAfter: number) =>
      run((db) => findMade(db, { tenant_id, idempotency }, endedAfter)),
  };
}

async function insertJob(
  trx: Transaction<JobTables>,
  { id, tenant_id, key_id, service, webhook_url, idempotency, bytes = 0, files = false }: NewJob,
  { total, shared, now }: { total: number; shared: Fields | undefined; now: number },
) {
  return trx
    .insertInto('jobs')
    .values({
      ...{ id, tenant_id, key_id, service, webhook_url, total, bytes },
      idempotency_key: idempotency?.key ?? null,
      idempotency_digest: idempotency?.digest ?? null,
      fields: shared ? JSON.stringify(shared) : null,
      ...{ created_at: now, moved_at: now, cancelled_at: null, finished_at: null },
      ...{ files: files ? 1 : 0, result_bytes: 0 },
      ...{ unqueued: total, started: 0, running: 0, done: 0, failed: 0, cancelled: 0 },
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'idempotency_key']).doNothing())
    .returning(jobColumns)
    .executeTakeFirst();
}

/** What an idempotency key has made; a job that ended at `endedAfter` or before has expired, and its key is free again. */
async function findMade(
  db: Kysely<JobTables>,
  { tenant_id, idempotency }: Pick<NewJob, 'tenant_id' | 'idempotency'>,
  endedAfter = 0,
): Promise<Created | undefined> {
  const found = await db
    .selectFrom('jobs')
    .select([...jobColumns, 'idempotency_digest'])
    .where('tenant_id', '=', tenant_id)
    .where('idempotency_key', '=', idempotency?.key ?? '')
    .executeTakeFirst();
  if (!found) return undefined;
  const { idempotency_digest, ...job } = found;
  if (job.finished_at !== null && job.finished_at <= endedAfter) {
    await db.updateTable('jobs').set({ idempotency_key: null }).where('id', '=', job.id).execute();
    return undefined;
  }
  return idempotency_digest === idempotency?.digest ? { outcome: 'replayed', job } : { outcome: 'conflict' };
}

/** Rows for one statement after the other, made only when they are asked for. */
function* rowBatches(job: string, inputs: readonly ItemInput[], shared: Fields | undefined) {
  let rows: [job: string, index: number, input: string][] = [];
  let characters = 0;
  for (const [index, input] of inputs.entries()) {
    const text = inputText(input, shared);
    rows.push([job, index, text]);
    characters += text.length;
    if (rows.length < rowsPerTransaction && characters < charactersPerStatement) continue;
    yield rows;
    rows = [];
    characters = 0;
  }
  if (rows.length > 0) yield rows;
}
