import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access } from '../../database/database.js';
import type { Job } from '../model.js';
import type { ResultStore } from './result-store.js';

/** Where the bytes of all jobs of the database lie. */
export type SharedStoreTables = {
  job_result_store: { one: 1; store: string };
  jobs: Pick<Job, 'id' | 'finished_at'>;
};

/** Whether this process sees the bytes of the jobs that others make; else why not, for the operator. */
type SharedStore = { shared: true } | { shared: false; message: string };

const apartMessage =
  'The files of the jobs in this database lie where this gateway does not see them. Set HELPER_RESULTS_URL to the same s3://bucket on every host, or HELPER_DATA_DIR to one folder for all. Where that has been changed, wait until the last job has expired.';
const awayMessage =
  'The store of files and results does not answer, so no jobs are taken. See HELPER_RESULTS_URL, or without it HELPER_DATA_DIR.';

/**
 * Two hosts with one database, each with a data folder of its own, would work on each other's jobs and find none of their files. So the
 * database remembers whose store its jobs use, and a process with another may neither make nor work on any. When no job is left that was
 * kept past `keptSince` (ms since 1970), the next one's store replaces it. To be checked before each job is made and now and
 * then by those who work on them, since the store may have changed.
 */
export async function checkSharedStore(
  access: Access<SharedStoreTables>,
  results: Pick<ResultStore, 'id'>,
  keptSince: number,
): Promise<SharedStore> {
  let store: string;
  try {
    store = await results.id();
  } catch {
    return { shared: false, message: awayMessage };
  }
  const known = await access.run((db) =>
    db.selectFrom('job_result_store').select('store').executeTakeFirst(),
  );
  if (known?.store === store) return { shared: true };
  const shared = await access.change((trx) => claim(trx, { kind: access.kind, store, keptSince }));
  return shared ? { shared } : { shared, message: apartMessage };
}

interface Claim {
  kind: Access<SharedStoreTables>['kind'];
  store: string;
  keptSince: number;
}

/** One after the other: who comes second finds what the first has left. */
async function claim(
  trx: Transaction<SharedStoreTables>,
  { kind, store, keptSince }: Claim,
): Promise<boolean> {
  await trx
    .insertInto('job_result_store')
    .values({ one: 1, store })
    .onConflict((conflict) => conflict.column('one').doNothing())
    .execute();
  const row = await trx
    .selectFrom('job_result_store')
    .select('store')
    .$if(kind === 'postgres', (query) => query.forUpdate())
    .executeTakeFirstOrThrow();
  if (row.store === store) return true;
  const left = await trx
    .selectFrom('jobs')
    .select('id')
    .where((eb) => eb.or([eb('finished_at', 'is', null), eb('finished_at', '>=', keptSince)]))
    .limit(1)
    .executeTakeFirst();
  if (left) return false;
  await trx.updateTable('job_result_store').set({ store }).execute();
  return true;
}

const lookMs = 30_000;

/** Logs once when this process stops seeing the files, and once when it sees them again. */
export function createStoreWatch(check: () => Promise<SharedStore>, logger: Pick<Logger, 'info' | 'warn'>) {
  let verdict: SharedStore | undefined;
  let again = 0;

  function note(next: SharedStore): void {
    if (!next.shared && verdict?.shared !== false) logger.warn(next.message);
    if (next.shared && verdict?.shared === false) logger.info('the files of jobs are seen here again');
    verdict = next;
  }

  return {
    /** Looks again where the last look was a while ago, or `anew` in any case. Whether this process sees the files that others make. */
    async look({ anew } = { anew: false }): Promise<boolean> {
      const now = performance.now();
      if (anew || now >= again) {
        note(await check());
        // What keeps jobs from being worked on is soon looked at again.
        again = now + (verdict?.shared ? lookMs : lookMs / 10);
      }
      return verdict?.shared === true;
    },
    /** Why it does not, by the last look. */
    message: () => (verdict && !verdict.shared ? verdict.message : undefined),
  };
}
