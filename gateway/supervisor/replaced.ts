import { visible } from '../../schemas/quote.js';
import { isTouched } from '../plugins/discover.js';
import type { Served } from './messages.js';

/** What a replacement has changed; helpers by their ids. */
export interface Changes {
  added: string[];
  reloaded: string[];
  removed: string[];
}

/** Of the helpers that stay those are told that a change of these files may concern; all of them where nobody knows which changed. */
export function changesOf(
  before: Served | undefined,
  now: Served | undefined,
  changed: ReadonlySet<string> | undefined,
): Changes {
  const [old, fresh] = [before?.helpers ?? {}, now?.helpers ?? {}];
  const files = new Set(Object.values(fresh));
  const isConcerned = (id: string) => {
    const file = fresh[id] as string;
    return file !== old[id] || !changed || [...changed].some((each) => isTouched(file, each, files));
  };
  return {
    added: Object.keys(fresh).filter((id) => !(id in old)),
    reloaded: Object.keys(fresh).filter((id) => id in old && isConcerned(id)),
    removed: Object.keys(old).filter((id) => !(id in fresh)),
  };
}

/** In a line: `reloaded text/shout`. Undefined where nothing that is served has changed. */
export function describeChanges({ added, reloaded, removed }: Changes): string | undefined {
  const parts = [...part('added', added), ...part('reloaded', reloaded), ...part('removed', removed)];
  return parts.length > 0 ? visible(parts.join(', ')) : undefined;
}

/** Of many helpers only the first are named. */
function part(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const named = ids.length > 5 ? `${ids.slice(0, 4).join(', ')} and ${ids.length - 4} more` : ids.join(', ');
  return [`${what} ${named}`];
}
