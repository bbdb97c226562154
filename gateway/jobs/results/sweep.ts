import { isJobBefore } from '../job-id.js';
import type { JobStore } from '../store/job-store.js';
import type { ResultStore } from './result-store.js';

/** Jobs that are asked for at a time. */
const aPiece = 500;

/**
 * Removes the files of jobs that never were, or are no more: whoever made or removed one was killed between its files and its rows. Jobs
 * of after `madeBefore` (ms since 1970) may still be being made, and what is no job's is not to be removed. Gives how many were removed;
 * `fail` gets the errors of the others.
 */
export async function sweepResults(
  results: Pick<ResultStore, 'prefixes' | 'removeAll'>,
  jobs: Pick<JobStore, 'known'>,
  { madeBefore, fail }: { madeBefore: number; fail: (error: unknown) => void },
): Promise<number> {
  let removed = 0;
  async function judge(ids: readonly string[]): Promise<void> {
    const known = new Set(await jobs.known(ids));
    for (const id of ids) {
      if (known.has(id)) continue;
      await results.removeAll(id).then(() => {
        removed += 1;
      }, fail);
    }
  }

  let piece: string[] = [];
  for await (const id of results.prefixes()) {
    if (!isJobBefore(id, madeBefore)) continue;
    piece.push(id);
    if (piece.length < aPiece) continue;
    await judge(piece);
    piece = [];
  }
  await judge(piece);
  return removed;
}
