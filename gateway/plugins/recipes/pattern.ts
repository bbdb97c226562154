/** One character, or a class of them, and how often. */
const part =
  /(?:\\[pP]\{[^}]*\}|\\[^1-9k]|\[(?:\\.|[^\]\\])*\]|[^\\[\](){}|*+?^$])([*+?]|\{\d{1,3}(?:,\d{0,3})?\})?/g;

const mostVarying = 2;
const mostCharacters = 100;

/**
 * Why a pattern must not see strangers' texts of so many characters, on the thread that answers all calls; undefined where it may. V8
 * tries every way to match: `(a+)+$` has 2 to the power of the length. Without groups, and with two parts of varying length, a pattern
 * has at most the length's square.
 */
export function patternProblem(pattern: string, longest: unknown): string | undefined {
  try {
    new RegExp(pattern, 'u');
  } catch (error) {
    return `must be a regular expression: ${(error as Error).message}`;
  }
  const parts = [...pattern.slice(1, -1).matchAll(part)];
  const varying = parts.filter(([, times]) => times && !/^\{\d+\}$/.test(times));
  if (`^${parts.map(([text]) => text).join('')}$` !== pattern || varying.length > mostVarying) {
    const rule = `no groups or alternatives, and at most ${mostVarying} parts of varying length`;
    return `must begin with ^ and end in $, with ${rule}`;
  }
  if (typeof longest === 'number' && longest <= mostCharacters) return undefined;
  return `needs a maxLength of at most ${mostCharacters} beside it`;
}
