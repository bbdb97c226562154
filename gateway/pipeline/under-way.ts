import { type Now, onSettled } from '../after.js';
import type { Helper } from '../helpers/registry.js';

/**
 * Does what is a call of this helper, from the moment in which it was looked up: the threads that have loaded its version stay
 * until that has ended, also where another version has taken its place meanwhile.
 */
export function underWay<T>({ group }: Pick<Helper, 'group'>, work: () => Now<T>): Now<T> {
  if (!group) return work();
  group.enter();
  return onSettled(work, { done: group.leave, failed: group.leave });
}
