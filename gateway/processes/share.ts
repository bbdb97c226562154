import type { KeyStore } from '../keys/store.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Member } from './member.js';

/** Tells the others at once what is changed here, and looks when one of them says so. Gives how to end it. */
export function shareChanges(
  store: Pick<KeyStore, 'onChange'>,
  keys: Pick<KeyVerifier, 'refresh'>,
  member: Pick<Member, 'tellChange' | 'onChange'> | undefined,
): () => void {
  if (!member) return () => undefined;
  // Twice, as a look that is under way may have begun before the change.
  member.onChange(() => void keys.refresh().then(() => keys.refresh()));
  return store.onChange(() => member.tellChange());
}

/**
 * Metrics whose text is that of all processes together. It is made of what the primary knows of this one too: what one has told and
 * then ends must not be missing from what the next tells.
 */
export function shareMetrics(
  own: Metrics,
  member: Pick<Member, 'gather' | 'onCollect'> | undefined,
  processes: number,
): Metrics {
  if (!member || processes === 1) return own;
  member.onCollect(own.facts);
  return { ...own, text: async () => own.text(await member.gather(await own.facts())) };
}
