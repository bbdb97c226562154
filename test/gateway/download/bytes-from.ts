import type { Source } from '../../../gateway/download/fetch.js';

/** The bytes of what a source brings. */
export async function bytesFrom(
  source: Source,
  ...asked: Parameters<Source['fetch']>
): Promise<Uint8Array<ArrayBuffer>> {
  return (await source.fetch(...asked)).body;
}
