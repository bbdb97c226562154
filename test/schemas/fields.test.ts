import { Ajv } from 'ajv';
import { expect } from 'chai';
import { createKeyInputs } from '../../gateway/keys/inputs.js';
import { createUsageInput } from '../../gateway/usage/report.js';
import { declarationSchema } from '../../schemas/declaration.js';
import { compileFields, type Fields } from '../../schemas/fields.js';
import { toStandard } from '../../schemas/keywords/keywords.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import { inWords } from './checker.js';

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

describe('fields', () => {
  it('gives what was right with its defaults, and leaves what it was given as it was', () => {
    const scopes = Object.freeze(['text/*']);
    const given = Object.freeze({ name: 'acme', label: undefined, rate: null, scopes });
    const { value, problems } = fields.check(given);
    expect(problems).to.deep.equal([]);
    expect(value).to.deep.equal({ name: 'acme', rate: null, scopes: ['text/*'], limit: 5 });
  });

  const known = 'is not known; known are name, label, scopes, day, rate, limit';
  const oneLine = 'label must be one line of 1 to 10 characters without control characters, but';
  for (const [what, given, problems] of [
    [
      'every problem at once, in words',
      { name: 'Acme', label: ' ', day: '2025-02-30', rate: 10, limit: '3' },
      [
        'name must be 1 to 5 of a-z, but is the string "Acme"',
        `${oneLine} is the string " "`,
        'day must be a day such as 2030-01-31, but is the string "2025-02-30"',
        'rate must be an integer from 0 to 9 or null, but is the number 10',
        'limit must be an integer from 1 to 9, but is the string "3"',
      ],
    ],
    [
      'what is missing, and too long',
      { label: 'a'.repeat(11) },
      ['name is required: 1 to 5 of a-z', `${oneLine} has 11`],
    ],
    ['null where it means nothing', { name: null, rate: null }, ['name is null; leave it out instead']],
    [
      'unknown fields, with the nearest where one is near',
      { name: 'a', lable: 1, constructor: 1, ['__proto__']: 1 },
      [`lable ${known}; did you mean label?`, `constructor ${known}`, `__proto__ ${known}`],
    ],
    [
      'items of a list',
      { name: 'a', scopes: ['text/remove-stopword', 7, 'text/*'] },
      [
        'scopes has the unknown scope "text/remove-stopword"; the nearest is "text/remove-stopwords"; ' +
          'has the unknown scope the number 7; known are text/*, text/remove-stopwords',
      ],
    ],
    [
      'a long list',
      { name: 'a', scopes: Array(9999).fill('x') },
      ['scopes must be a list of 1 to 3 items, but has 9999'],
    ],
  ] as [string, object, string[]][]) {
    it(`names ${what}`, () => expect(inWords(fields.check(given).problems)).to.have.members(problems));
  }

  it('names twenty scopes, where there are more and none is near', () => {
    const knownScopes = () => Array.from({ length: 30 }, (_, at) => `s${at}`);
    const properties = { scopes: { type: 'array', scopes: true } };
    const many = compileFields(createAdminVocabulary({ knownScopes, now: Date.now }), { properties });
    expect(inWords(many.check({ scopes: ['qqqqq'] }).problems)[0]).to.match(
      /has the unknown scope "qqqqq"; known are s0, .*, s19 and 10 more$/,
    );
  });

  it('reads the texts of a query by type, and leaves a misfit to be named', () => {
    const texts = new Map(Object.entries({ limit: '7', rate: 'many', name: '12', other: '1' }));
    expect(fields.coerce(texts)).to.deep.equal({ limit: 7, rate: 'many', name: '12', other: '1' });
  });

  it('becomes plain JSON Schema for documents', () => {
    const { name, label, scopes, day } = schema.properties;
    const scope = { type: 'string', enum: ['text/*'] };
    expect(toStandard(name)).to.deep.equal({ type: 'string', maxLength: 5, pattern: '^[a-z]+$' });
    expect(toStandard(label)).to.deep.equal({ type: 'string', minLength: 1, maxLength: 10 });
    expect(toStandard(day)).to.deep.equal({ type: 'string', format: 'date' });
    const knownScopes = () => ['text/*'];
    expect(toStandard(scopes, { knownScopes })).to.deep.include({ items: scope, maxItems: 3 });
    expect(toStandard({ scopes: true })).to.deep.equal({ items: { type: 'string' } });
  });
});

/** They are compiled without a look at whether they are schemas, and those of fields when they are first used. */
describe("the gateway's own schemas", () => {
  const { knownScopes: _, ...inputs } = createKeyInputs(() => ['text/shout'], Date.now);
  const fields: Record<string, Fields<unknown>> = { ...inputs, usage: createUsageInput() };
  const isJsonSchema = (schema: object) => {
    const ajv = new Ajv({ allErrors: true });
    ajv.validateSchema(schema);
    expect(ajv.errors ?? []).to.deep.equal([]);
  };

  it('are JSON Schema: declaration', () => isJsonSchema(declarationSchema));

  for (const [name, { check, schema }] of Object.entries(fields)) {
    it(`are JSON Schema that ajv's strict mode accepts: ${name}`, () => {
      isJsonSchema({ type: 'object', ...schema });
      expect(check({ nowhere: 1 }).problems.map(({ field }) => field)).to.include('nowhere');
    });
  }
});
