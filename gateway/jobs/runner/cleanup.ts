import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isJobBefore, type Job } from '../model.js';
import { inputsName, type ResultStore } from '../results/result-store.js';
import type { JobStore } from '../store/job-store.js';

interface CleanupParts {
  store: Pick<JobStore, 'expired' | 'ofFormerTenants' | 'remove' | 'known' | 'cleared' | 'uncleared'>;
  results: Pick<ResultStore, 'removeAll' | 'prefixes'>;
  logger: Pick<Logger, 'error' | 'info'>;
  ttlSeconds: number;
  /** Whether this process sees the files of jobs: else it removes nothing. */
  seesFiles: () => Promise<boolean>;
  /** Milliseconds until it looks for files that no job has; some hours by default, and not the same for all processes. */
  sweepAfterMs?: number;
  roundMs?: number;
}

export type Cleanup = ReturnType<typeof startCleanup>;

type Removal = { store: Pick<JobStore, 'cleared' | 'remove'>; results: Pick<ResultStore, 'removeAll'> };

/** Removes the files that were inputs of jobs which have ended; results stay. */
export async function clearInputs(
  { store, results }: Removal,
  jobs: readonly Pick<Job, 'id' | 'bytes'>[],
): Promise<void> {
  for (const { id, bytes } of jobs) {
    // Without files nothing of them is left.
    if (bytes === 0) continue;
    await results.removeAll(inputsName(id));
    await store.cleared(id);
  }
}

/** Removes a job and all that it has come to. The rows last: what has none is not found again. */
export async function forgetJob({ store, results }: Removal, id: string): Promise<void> {
  await results.removeAll(id);
  await store.remove(id);
}

const jobsPerRound = 20;
const idsPerQuery = 500;
const sweepMs = 6 * 3_600_000;
/** Files are swept a day after their job would have expired: the store may be another database's, too. */
const dayMs = 86_400_000;

/** Removes expired jobs, and now and then files without a job. What cannot be removed is left for the next round. */
export function startCleanup(parts: CleanupParts) {
  const { store, results, logger, ttlSeconds, seesFiles } = parts;
  const { sweepAfterMs = Math.random() * sweepMs, roundMs = 30_000 } = parts;
  const ttlMs = ttlSeconds * 1_000;
  const closing = new AbortController();
  const { signal } = closing;
  let sweepAt = performance.now() + sweepAfterMs;
  /** Whether something could not be removed in this round, and whether that is logged since the last round without a failure. */
  let failed = false;
  let logged = false;

  function fail(error: unknown): void {
    failed = true;
    if (signal.aborted || logged) return;
    logged = true;
    logger.error({ err: error }, 'jobs, or files of jobs, could not be removed; it is tried again');
  }

  /** Of jobs that have ended: what removed the last item's files was interrupted. */
  async function clear(): Promise<void> {
    for (const id of await store.uncleared(jobsPerRound)) {
      if (signal.aborted) return;
      await clearInputs(parts, [{ id, bytes: 1 }]).catch(fail);
    }
  }

  const expire = () => forgetAll((page) => store.expired(Date.now() - ttlMs, page));

  async function forgetAll(read: (page: { most: number; skip: number }) => Promise<string[]>): Promise<void> {
    for (let skip = 0; !signal.aborted; ) {
      const ids = await read({ most: jobsPerRound, skip });
      if (ids.length === 0) return;
      for (const id of ids) {
        if (signal.aborted) return;
        await forgetJob(parts, id).catch((error) => {
          skip += 1;
          fail(error);
        });
      }
    }
  }

  /** Of what tenants that were deleted have left. */
  const leave = () => forgetAll(store.ofFormerTenants);

  async function removeUnknown(ids: readonly string[]): Promise<number> {
    const known = new Set(await store.known(ids));
    let removed = 0;
    for (const id of ids) {
      if (known.has(id)) continue;
      await results.removeAll(id).then(() => {
        removed += 1;
      }, fail);
    }
    return removed;
  }

  /** Of jobs that do not exist: a process was killed between a job's files and its rows. Young ones may still be being made. */
  async function sweep(): Promise<void> {
    if (signal.aborted || performance.now() < sweepAt) return;
    sweepAt = performance.now() + sweepMs;
    const madeBefore = Date.now() - ttlMs - dayMs;
    let removed = 0;
    let ids: string[] = [];
    for await (const id of results.prefixes()) {
      if (isJobBefore(id, madeBefore)) ids.push(id);
      if (ids.length < idsPerQuery) continue;
      removed += await removeUnknown(ids);
      ids = [];
    }
    removed += await removeUnknown(ids);
    if (removed > 0) logger.info({ removed }, 'files of jobs were removed that no job has');
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      failed = false;
      for (const work of [clear, expire, leave, sweep]) {
        await seesFiles()
          .then((sees) => (sees ? work() : undefined))
          .catch(fail);
      }
      if (!failed) logged = false;
      await pause(roundMs, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async close(): Promise<void> {
      closing.abort();
      await running;
    },
  };
}
