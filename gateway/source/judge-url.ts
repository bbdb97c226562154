import { inputError } from '../errors.js';
import { sourceRefused } from './failure.js';
import type { ExemptOrigins } from './origins.js';
import { parseSourceUrl, type Target } from './url.js';

/** The target that a stranger's url names; throws `invalid_input` on `field` for what is no url, `source_refused` for what may not be. */
export function judgeUrl(raw: string, origins: ExemptOrigins, field = 'url'): Target {
  const verdict = parseSourceUrl(raw, origins);
  if (verdict.ok) return verdict;
  if (verdict.kind === 'refused') throw sourceRefused(verdict.problem);
  throw inputError([{ field, problem: verdict.problem }]);
}
