import { visible } from '../../schemas/quote.js';
import type { PluginProblem } from '../helpers/discover.js';
import type { ReloadReport } from '../helpers/reload.js';

/** A reload in a line: `reloaded text/shout in 41 ms`. Undefined where nothing that is served has changed. */
export function reloadLine({ added, reloaded, removed, ms }: ReloadReport): string | undefined {
  const parts = [...part('added', added), ...part('reloaded', reloaded), ...part('removed', removed)];
  return parts.length > 0 ? visible(`${parts.join(', ')} in ${Math.round(ms)} ms`) : undefined;
}

/** What cannot be served and what is left out, for the author. */
export function problemLines(
  problems: readonly PluginProblem[],
  skipped: readonly PluginProblem[] = [],
): string[] {
  const lines = [
    ...problems.map(({ file, reason }) => `cannot load ${file}\n    ${reason.replaceAll('\n', '\n    ')}`),
    ...skipped.map(({ file, reason }) => `${file} ${reason}`),
  ];
  return lines.map(visible);
}

/** Of many helpers only the first are named. */
function part(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const named = ids.length > 5 ? `${ids.slice(0, 4).join(', ')} and ${ids.length - 4} more` : ids.join(', ');
  return [`${what} ${named}`];
}
