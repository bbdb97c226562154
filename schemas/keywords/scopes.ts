import { nearest } from '../nearest.js';
import { describeValue, quote } from '../quote.js';
import { type Keyword, switchedOn } from './keyword.js';

const mostListed = 20;

/** `scopes: true` on a list: each item is one of the known scopes, or of a form whose names are known elsewhere. A problem names all that are not, each with the nearest. */
export const scopes: Keyword<true, unknown[]> = {
  name: 'scopes',
  type: 'array',
  ...switchedOn,
  prepare: (_, __, { knownScopes = () => [], scopePattern }) => {
    const form = scopePattern === undefined ? undefined : new RegExp(scopePattern);
    const isForm = (scope: unknown) => typeof scope === 'string' && form?.test(scope) === true;
    return (value) => {
      const known = knownScopes();
      const unknown = value.filter((scope) => !known.includes(scope as string) && !isForm(scope));
      if (unknown.length === 0) return { value };
      const problems = unknown.map((scope) => unknownScope(scope, known));
      return { problem: problems.join('; ') + knownScopesHint(unknown, known) };
    };
  },
  standard(_, plain, { knownScopes = () => [], scopePattern: pattern }) {
    const known = knownScopes();
    if (known.length === 0) return { ...plain, items: { type: 'string' } };
    const listed = pattern === undefined ? { enum: known } : { anyOf: [{ enum: known }, { pattern }] };
    return { ...plain, items: { type: 'string', ...listed } };
  },
};

function unknownScope(scope: unknown, known: readonly string[]): string {
  const near = nearestTo(scope, known);
  const hint = near === undefined ? '' : `; the nearest is ${quote(near)}`;
  return `has the unknown scope ${typeof scope === 'string' ? quote(scope) : describeValue(scope)}${hint}`;
}

/** All that are known, where one scope is near to none of them. */
function knownScopesHint(unknown: readonly unknown[], known: readonly string[]): string {
  const lost = unknown.some((scope) => nearestTo(scope, known) === undefined);
  if (!lost || known.length === 0) return '';
  const more = known.length > mostListed ? ` and ${known.length - mostListed} more` : '';
  return `; known are ${known.slice(0, mostListed).join(', ')}${more}`;
}

function nearestTo(scope: unknown, known: readonly string[]): string | undefined {
  return typeof scope === 'string' ? nearest(scope, known) : undefined;
}
