import { didYouMean, mostMeant } from '../nearest.js';
import { briefly, describeValue, list } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

/** Names with their aliases. */
export type Choices = Record<string, string[]>;

/** What a `choice` allows, each name with its aliases: `png`, `jpg (or jpeg)`. */
export function choiceNames(choices: Choices): string[] {
  return Object.entries(choices).map(([name, aliases]) =>
    aliases.length > 0 ? `${name} (or ${aliases.join(', ')})` : name,
  );
}

/**
 * `choice: { png: [], jpg: ['jpeg'] }` on a string: one of the names or their aliases in any case; becomes the name.
 * Two choices may not share a spelling.
 */
export const choiceKeyword = normalisingKeyword({
  keyword: 'choice',
  type: 'string',
  metaSchema: {
    type: 'object',
    minProperties: 1,
    additionalProperties: { type: 'array', items: { type: 'string' } },
  },
  prepare(setting) {
    const choices = setting as Choices;
    const bySpelling = spellings(choices);
    const form = `one of ${list(choiceNames(choices), ', ', briefly)}`;
    return (value) => {
      const text = value as string;
      const name = bySpelling.get(text.toLowerCase());
      if (name !== undefined) return { ok: true, value: name };
      const hint = () => didYouMean(text, [...bySpelling.keys()], mostMeant);
      return { ok: false, problem: `must be ${form}, but is ${describeValue(text)}`, hint };
    };
  },
});

function spellings(choices: Choices): Map<string, string> {
  const bySpelling = new Map<string, string>();
  for (const [name, aliases] of Object.entries(choices)) {
    for (const spelling of [name, ...aliases].map((each) => each.toLowerCase())) {
      if (bySpelling.has(spelling)) throw new Error(`choice: "${spelling}" is listed twice`);
      bySpelling.set(spelling, name);
    }
  }
  return bySpelling;
}
