import type { Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access } from '../../database/database.js';
import { GatewayError } from '../../errors.js';
import type { Job } from '../model.js';
import type { ResultStore } from './result-store.js';

/** Where the bytes of all jobs of the database lie. */
export type SharedStoreTables = {
  job_result_store: { one: 1; store: string };
  jobs: Pick<Job, 'id' | 'finished_at'>;
};

const apartMessage =
  'The files of the jobs in this database lie where this gateway does not see them. Set HELPER_RESULTS_URL to the same s3://bucket on every host, or HELPER_DATA_DIR to one folder for all. Where that has been changed, wait until the last job has expired.';
const awayMessage =
  'The store of files and results does not answer, so no jobs are accepted. See HELPER_RESULTS_URL, or without it HELPER_DATA_DIR.';

interface StoreWatchParts {
  access: Access<SharedStoreTables>;
  results: Pick<ResultStore, 'id'>;
  /** Jobs that ended before this time, ms since 1970, are no reason to refuse another store. */
  keptSince: () => number;
  logger: Pick<Logger, 'info' | 'warn'>;
}

const lookMs = 30_000;

export type StoreWatch = ReturnType<typeof createStoreWatch>;

/**
 * Two hosts with one database and a data folder each would find none of each other's files. So the database remembers whose store its
 * jobs use, and a process with another may neither make nor work on any. When no job is left, the next one's store replaces it.
 */
export function createStoreWatch({ access, results, keptSince, logger }: StoreWatchParts) {
  /** Why this process does not see the files that others make, by the last look, for the operator. */
  let message: string | undefined;
  let again = 0;

  async function check(): Promise<string | undefined> {
    let store: string;
    try {
      store = await results.id();
    } catch {
      return awayMessage;
    }
    const known = await access.run((db) =>
      db.selectFrom('job_result_store').select('store').executeTakeFirst(),
    );
    if (known?.store === store) return undefined;
    return (await access.change((trx) => claim(trx, store))) ? undefined : apartMessage;
  }

  /** One after the other: who comes second finds what the first has left. */
  async function claim(trx: Transaction<SharedStoreTables>, store: string): Promise<boolean> {
    await trx
      .insertInto('job_result_store')
      .values({ one: 1, store })
      .onConflict((conflict) => conflict.column('one').doNothing())
      .execute();
    const row = await trx
      .selectFrom('job_result_store')
      .select('store')
      .$if(access.kind === 'postgres', (query) => query.forUpdate())
      .executeTakeFirstOrThrow();
    if (row.store === store) return true;
    const left = await trx
      .selectFrom('jobs')
      .select('id')
      .where((eb) => eb.or([eb('finished_at', 'is', null), eb('finished_at', '>=', keptSince())]))
      .limit(1)
      .executeTakeFirst();
    if (left) return false;
    await trx.updateTable('job_result_store').set({ store }).execute();
    return true;
  }

  return {
    /** Looks again where the last look was a while ago, or `anew` in any case. Whether this process sees the files that others make. */
    async look({ anew } = { anew: false }): Promise<boolean> {
      const now = performance.now();
      if (anew || now >= again) {
        const found = await check();
        if (found !== undefined && message === undefined) logger.warn(found);
        if (found === undefined && message !== undefined)
          logger.info('the files of jobs are seen here again');
        message = found;
        // What keeps jobs from being worked on is soon looked at again.
        again = now + (found === undefined ? lookMs : lookMs / 10);
      }
      return message === undefined;
    },
    /** Why no job can be made here. */
    refusal: () => (message === undefined ? undefined : new GatewayError('storage_unavailable', { message })),
  };
}
