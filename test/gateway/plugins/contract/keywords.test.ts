import { expect } from 'chai';
import type { Schema } from '../../../../gateway/helper.js';
import type { KeywordTypes } from '../../../../gateway/plugins/contract-schema.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';

// The compiler holds this list to the type, and the test to the validator.
const typed = {
  type: true,
  nullable: true,
  const: true,
  enum: true,
  default: true,
  title: true,
  description: true,
  examples: true,
  deprecated: true,
  readOnly: true,
  writeOnly: true,
  $comment: true,
  minLength: true,
  maxLength: true,
  pattern: true,
  contentEncoding: true,
  contentMediaType: true,
  color: true,
  choice: true,
  fraction: true,
  measure: true,
  drawable: true,
  encodable: true,
  minimum: true,
  maximum: true,
  exclusiveMinimum: true,
  exclusiveMaximum: true,
  multipleOf: true,
  items: true,
  additionalItems: true,
  contains: true,
  minItems: true,
  maxItems: true,
  uniqueItems: true,
  properties: true,
  required: true,
  additionalProperties: true,
  patternProperties: true,
  propertyNames: true,
  minProperties: true,
  maxProperties: true,
  dependencies: true,
  onlyWith: true,
  allOf: true,
  anyOf: true,
  oneOf: true,
  discriminator: true,
  not: true,
  if: true,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: true,
  else: true,
  definitions: true,
  $defs: true,
  $ref: true,
  $id: true,
  $schema: true,
} satisfies Record<keyof Schema, true>;

const types = {
  minLength: ['string'],
  maxLength: ['string'],
  pattern: ['string'],
  color: ['string'],
  choice: ['string'],
  drawable: ['string'],
  encodable: ['string'],
  fraction: ['number', 'string'],
  measure: ['number', 'string'],
  minimum: ['number'],
  maximum: ['number'],
  exclusiveMinimum: ['number'],
  exclusiveMaximum: ['number'],
  multipleOf: ['number'],
  items: ['array'],
  additionalItems: ['array'],
  contains: ['array'],
  minItems: ['array'],
  maxItems: ['array'],
  uniqueItems: ['array'],
  properties: ['object'],
  required: ['object'],
  additionalProperties: ['object'],
  patternProperties: ['object'],
  propertyNames: ['object'],
  minProperties: ['object'],
  maxProperties: ['object'],
  dependencies: ['object'],
  discriminator: ['object'],
  onlyWith: ['object'],
} satisfies { [Keyword in keyof KeywordTypes]: KeywordTypes[Keyword][] };

/** Known to ajv, and of no use here: refused by it, of a later draft, or answered later than asked. */
const left = ['$async', '$vocabulary', 'contentSchema', 'format', 'id'];

describe('the type of a schema', () => {
  it('has the keywords that the gateway knows', () => {
    const known = Object.keys(createVocabulary().RULES.keywords);
    expect([...Object.keys(typed), ...left].sort()).to.deep.equal(known.sort());
  });

  it('knows of what types each keyword judges the values', () => {
    const ruled = new Map<string, string[]>();
    for (const { type, rules } of createVocabulary().RULES.rules) {
      for (const { keyword } of type && type !== 'integer' ? rules : []) {
        if (!left.includes(keyword)) ruled.set(keyword, [...(ruled.get(keyword) ?? []), type as string]);
      }
    }
    expect(Object.fromEntries(ruled)).to.deep.equal(types);
  });
});
