import type { FuncKeywordDefinition } from 'ajv';
import { nearest } from '../nearest.js';
import { describeValue, quote } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

const mostListed = 20;

/** `scopes: true` on a list: each item is one of the known scopes. A problem names all that are not, each with the nearest. */
export function scopesKeyword(knownScopes: () => readonly string[]): FuncKeywordDefinition {
  return normalisingKeyword({
    keyword: 'scopes',
    type: 'array',
    metaSchema: { const: true },
    prepare: () => (value) => {
      const known = knownScopes();
      const unknown = (value as unknown[]).filter((scope) => !known.includes(scope as string));
      if (unknown.length === 0) return { ok: true, value };
      return {
        ok: false,
        problem:
          unknown.map((scope) => unknownScope(scope, known)).join('; ') + knownScopesHint(unknown, known),
      };
    },
  });
}

function unknownScope(scope: unknown, known: readonly string[]): string {
  const near = nearestTo(scope, known);
  const hint = near === undefined ? '' : `; the nearest is ${quote(near)}`;
  return `has the unknown scope ${typeof scope === 'string' ? quote(scope) : describeValue(scope)}${hint}`;
}

/** What is known, where one is near to nothing. */
function knownScopesHint(unknown: readonly unknown[], known: readonly string[]): string {
  const lost = unknown.some((scope) => nearestTo(scope, known) === undefined);
  if (!lost || known.length === 0) return '';
  const more = known.length > mostListed ? ` and ${known.length - mostListed} more` : '';
  return `; known are ${known.slice(0, mostListed).join(', ')}${more}`;
}

function nearestTo(scope: unknown, known: readonly string[]): string | undefined {
  return typeof scope === 'string' ? nearest(scope, known) : undefined;
}
