import { expect } from 'chai';
import type { Schema } from '../../../../gateway/helper.js';
import type { TypeOfKeyword } from '../../../../gateway/plugins/contract-schema.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import type { Equal } from './equal.js';

type Words<Text> = Text extends `${infer Word} ${infer Others}` ? Word | Words<Others> : Text;

/** Keywords for values of each of these types alone. */
const typed = {
  string: 'minLength maxLength pattern color choice drawable encodable fraction measure',
  number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf fraction measure',
  array: 'items additionalItems contains minItems maxItems uniqueItems',
  object:
    'properties required additionalProperties patternProperties propertyNames minProperties maxProperties dependencies discriminator onlyWith',
} as const;
const others =
  'type nullable const enum default title description examples deprecated readOnly writeOnly $comment contentEncoding contentMediaType allOf anyOf oneOf not if then else definitions $defs $ref $id $schema';

// The compiler compares these lists with the types, and the tests compare them with the validator.
type Typed = {
  [T in keyof typeof typed]: {
    [K in keyof Schema]-?: T extends TypeOfKeyword<K> ? K : never;
  }[keyof Schema];
};
true satisfies Equal<{ [T in keyof typeof typed]: Words<(typeof typed)[T]> }, Typed>;
true satisfies Equal<Words<(typeof typed)[keyof typeof typed] | typeof others>, keyof Schema>;

/** Known to ajv, and of no use here: refused by it, of a later draft, or answered later than asked. */
const left = ['$async', '$vocabulary', 'contentSchema', 'format', 'id'];

describe('the type of a schema', () => {
  it('has the keywords that the gateway knows', () => {
    const all = new Set([...Object.values(typed), others].flatMap((words) => words.split(' ')));
    expect(Object.keys(createVocabulary().RULES.keywords)).to.have.members([...all, ...left]);
  });

  it('knows for values of which types each keyword is', () => {
    const { rules } = createVocabulary().RULES;
    for (const [type, words] of Object.entries(typed)) {
      const ruled = rules.find((group) => group.type === type)?.rules.map(({ keyword }) => keyword);
      expect(ruled?.filter((keyword) => !left.includes(keyword))).to.have.members(words.split(' '));
    }
  });
});
