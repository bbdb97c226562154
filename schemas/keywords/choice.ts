import { isObject } from '../json-schema.js';
import { didYouMean, mostMeant } from '../nearest.js';
import { briefly, describeValue, type Listing, list } from '../quote.js';
import { anyCase, type Keyword, switchedOn, withAlternatives, withMore } from './keyword.js';

/** Names with their aliases. */
type Choices = Record<string, string[]>;

/** Names and aliases, in their order. */
const spellingsOf = (choices: Choices) => Object.entries(choices).flat(2);

/** `one of png, jpg (or jpeg)` */
function describeChoices(choices: Choices, listing: Listing): string {
  const names = Object.entries(choices).map(([name, aliases]) =>
    aliases.length > 0 ? `${name} (or ${aliases.join(', ')})` : name,
  );
  return `one of ${list(names, ', ', listing)}`;
}

/**
 * `choice: { png: [], jpg: ['jpeg'] }` on a string: one of the names or their aliases in any case; becomes the name.
 * Two choices may not share a spelling.
 */
export const choice: Keyword<Choices> = {
  name: 'choice',
  type: 'string',
  metaSchema: {
    type: 'object',
    minProperties: 1,
    additionalProperties: { type: 'array', items: { type: 'string' } },
  },
  accepts: isObject,
  prepare(choices) {
    const bySpelling = nameBySpelling(choices);
    const form = describeChoices(choices, briefly);
    return (text) => {
      const name = bySpelling.get(text.toLowerCase());
      if (name !== undefined) return { value: name };
      const hint = () => didYouMean(text, [...bySpelling.keys()], mostMeant);
      return { problem: `must be ${form}, but is ${describeValue(text)}`, hint };
    };
  },
  describe: (choices, _, listing) => describeChoices(choices, listing),
  /** By its names, for those who pick one; in any case, for those who type one. */
  standard(choices, plain) {
    const spellings = spellingsOf(choices);
    const anyOf = [{ enum: spellings }, { pattern: `^(?:${spellings.map(anyCase).join('|')})$` }];
    if (plain.type !== 'string') return withMore(plain, { anyOf });
    return withAlternatives(plain, (type) => anyOf.map((each) => ({ type, ...each })));
  },
  brief: (choices) => ({ enum: spellingsOf(choices) }),
  control: (choices) => ({ kind: 'choice', options: Object.keys(choices), aliases: choices }),
  suggestions: (choices) => Object.keys(choices),
  samples(choices, type, _, fc) {
    if (type !== 'string') return undefined;
    return fc.constantFrom(...spellingsOf(choices).flatMap((name) => [name, name.toUpperCase()]));
  },
};

function nameBySpelling(choices: Choices): Map<string, string> {
  const bySpelling = new Map<string, string>();
  for (const [name, aliases] of Object.entries(choices)) {
    for (const spelling of [name, ...aliases].map((each) => each.toLowerCase())) {
      if (bySpelling.has(spelling)) throw new Error(`choice: "${spelling}" is listed twice`);
      bySpelling.set(spelling, name);
    }
  }
  return bySpelling;
}

/**
 * `encodable: true` on a string beside `choice`: the image engine that runs here writes it. A schema's own defaults and examples pass
 * with any engine, because a plugin loads with each of them.
 */
export const encodable: Keyword<true> = {
  name: 'encodable',
  type: 'string',
  ...switchedOn,
  prepare:
    (_, __, { canEncode }) =>
    (value, { anyEngine }) => {
      const problem = anyEngine ? undefined : canEncode?.(value);
      return problem === undefined ? { value } : { problem };
    },
};
