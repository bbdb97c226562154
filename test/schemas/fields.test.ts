import { Ajv } from 'ajv';
import { expect } from 'chai';
import { createKeyInputs } from '../../gateway/keys/inputs.js';
import { createUsageInput } from '../../gateway/usage/report.js';
import { declarationSchema } from '../../schemas/declaration.js';
import { compileFields, type Fields } from '../../schemas/fields.js';
import { toStandard } from '../../schemas/keywords/keywords.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';

const ajv = createAdminVocabulary({ knownScopes: () => ['text/*', 'text/remove-stopwords'], now: Date.now });
const schema = {
  properties: {
    name: { type: 'string', maxLength: 5, pattern: '^[a-z]+$', form: '1 to 5 of a-z' },
    label: { type: 'string', line: 10 },
    scopes: { type: 'array', minItems: 1, maxItems: 3, scopes: true },
    day: { type: 'string', day: true },
    rate: { type: ['integer', 'null'], minimum: 0, maximum: 9 },
    limit: { type: 'integer', minimum: 1, maximum: 9, default: 5 },
  },
  required: ['name'],
};
const fields = compileFields<Record<string, unknown>>(ajv, schema);

function problems(given: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(fields.check(given).problems.map(({ field, problem }) => [field, problem]));
}

describe('fields', () => {
  it('gives what was right with its defaults, and leaves what it was given as it was', () => {
    const given = Object.freeze({
      name: 'acme',
      label: undefined,
      rate: null,
      scopes: Object.freeze(['text/*']),
    });
    const { value, problems } = fields.check(given);
    expect(problems).to.deep.equal([]);
    expect(value).to.deep.equal({ name: 'acme', rate: null, scopes: ['text/*'], limit: 5 });
  });

  it('names every problem at once, in words', () => {
    expect(problems({ name: 'Acme', label: ' ', day: '2025-02-30', rate: 10, limit: '3' })).to.deep.equal({
      name: 'must be 1 to 5 of a-z, but is the string "Acme"',
      label: 'must be one line of 1 to 10 characters without control characters, but is the string " "',
      day: 'must be a day such as 2030-01-31, but is the string "2025-02-30"',
      rate: 'must be an integer from 0 to 9 or null, but is the number 10',
      limit: 'must be an integer from 1 to 9, but is the string "3"',
    });
    expect(problems({ label: 'a'.repeat(11) })).to.deep.equal({
      name: 'is required: 1 to 5 of a-z',
      label: 'must be one line of 1 to 10 characters without control characters, but has 11',
    });
  });

  it('accepts null only where it means something', () => {
    expect(problems({ name: null, label: null, rate: null })).to.deep.equal({
      name: 'is null; leave it out instead',
      label: 'is null; leave it out instead',
    });
  });

  it('suggests the nearest field for an unknown one, where one is near', () => {
    const known = 'is not known; known are name, label, scopes, day, rate, limit';
    expect(problems({ name: 'a', lable: 1, constructor: 1, ['__proto__']: 1 })).to.deep.equal({
      lable: `${known}; did you mean label?`,
      constructor: known,
      ['__proto__']: known,
    });
  });

  it('names the problems of items of a list', () => {
    expect(problems({ name: 'a', scopes: ['text/remove-stopword', 7, 'text/*'] })).to.deep.equal({
      scopes:
        'has the unknown scope "text/remove-stopword"; the nearest is "text/remove-stopwords"; ' +
        'has the unknown scope the number 7; known are text/*, text/remove-stopwords',
    });
    expect(problems({ name: 'a', scopes: Array(10_000).fill('x') }).scopes).to.match(
      /^must be a list of 1 to 3 items, but has 10000$/,
    );
  });

  it('names twenty scopes, where there are more and none is near', () => {
    const knownScopes = () => Array.from({ length: 30 }, (_, at) => `s${at}`);
    const many = compileFields(createAdminVocabulary({ knownScopes, now: Date.now }), {
      properties: { scopes: { type: 'array', scopes: true } },
    });
    expect(many.check({ scopes: ['qqqqq'] }).problems[0]?.problem).to.match(
      /^has the unknown scope "qqqqq"; known are s0, .*, s19 and 10 more$/,
    );
  });

  it('reads the texts of a query by type, and leaves a misfit to be named', () => {
    const texts = new Map([
      ['limit', '7'],
      ['rate', 'many'],
      ['name', '12'],
      ['other', '1'],
    ]);
    expect(fields.coerce(texts)).to.deep.equal({ limit: 7, rate: 'many', name: '12', other: '1' });
  });

  it('becomes plain JSON Schema for documents', () => {
    const { name, label, scopes, day } = schema.properties;
    const scope = { type: 'string', enum: ['text/*'] };
    expect(toStandard(name)).to.deep.equal({ type: 'string', maxLength: 5, pattern: '^[a-z]+$' });
    expect(toStandard(label)).to.deep.equal({ type: 'string', minLength: 1, maxLength: 10 });
    expect(toStandard(day)).to.deep.equal({ type: 'string', format: 'date' });
    expect(toStandard(scopes, { knownScopes: () => ['text/*'] })).to.deep.include({
      items: scope,
      maxItems: 3,
    });
    expect(toStandard({ scopes: true })).to.deep.equal({ items: { type: 'string' } });
  });
});

/** They are compiled without a look at whether they are schemas, and those of fields when they are first used. */
describe("the gateway's own schemas", () => {
  const { knownScopes: _, ...inputs } = createKeyInputs({ services: () => ['text/shout'], now: Date.now });
  const fields: Record<string, Fields<unknown>> = { ...inputs, usage: createUsageInput() };
  const schemas = Object.entries(fields).map(
    ([name, { schema }]) => [name, { type: 'object', ...schema }] as const,
  );

  for (const [name, schema] of [['declaration', declarationSchema] as const, ...schemas]) {
    it(`are JSON Schema: ${name}`, () => {
      const ajv = new Ajv({ allErrors: true });
      ajv.validateSchema(schema);
      expect(ajv.errors ?? []).to.deep.equal([]);
    });
  }

  for (const [name, { check }] of Object.entries(fields)) {
    it(`are accepted by ajv's strict mode: ${name}`, () => {
      expect(check({ nowhere: 1 }).problems.map(({ field }) => field)).to.include('nowhere');
    });
  }

  it('are found out by the same look where they are none', () => {
    expect(new Ajv().validateSchema({ type: 'text' })).to.equal(false);
  });
});
