import type { JobRequest } from './jobs.js';
import { inputName, type ResultStore } from './results/result-store.js';

/** Files that are being put at a time: a store behind a network takes some 20 ms for each. */
const atATime = 16;

/** Puts the files of a request where its items will look for them. Rejects with the first error, once nothing is being put any more. */
export async function putFiles(
  job: string,
  { files, sharedFiles }: Pick<JobRequest, 'files' | 'sharedFiles'>,
  results: Pick<ResultStore, 'put'>,
): Promise<void> {
  const coming = named(job, { files, sharedFiles });
  let failed: { error: unknown } | undefined;
  const lane = async () => {
    for (const [name, bytes] of coming) {
      if (failed) return;
      await results.put(name, bytes).catch((error) => {
        failed ??= { error };
      });
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  if (failed) throw failed.error;
}

function* named(
  job: string,
  { files, sharedFiles }: Pick<JobRequest, 'files' | 'sharedFiles'>,
): Generator<[string, Uint8Array]> {
  for (const [field, bytes] of sharedFiles)
    yield [inputName({ job, index: 0 }, { field, shared: true }), bytes];
  for (const [index, ofItem] of files.entries()) {
    for (const [field, bytes] of ofItem) yield [inputName({ job, index }, { field }), bytes];
  }
}
