import { expect } from 'chai';
import type { JsonSchema } from '../../../../../schemas/json-schema.js';
import { createVocabulary } from '../../../../../schemas/vocabulary/vocabulary.js';
import { judgeBy } from './convert.js';

const cases: { schema: JsonSchema; right: unknown[]; wrong: unknown[] }[] = [
  {
    schema: { type: 'string', color: true, maxLength: 100 },
    right: [
      '#FFF',
      'abc123',
      ' RGB(1, 2, 3) ',
      'hsl(10deg 20% 30%)',
      'Dark Sea Green',
      'Crème brûlée',
      'Baker’s chocolate',
    ],
    wrong: ['#ffff', '#12345678', 'rgb(1 2 3 / 50%)', '', 7],
  },
  {
    schema: { type: 'string', choice: { png: [], jpg: ['jpeg'], 'a.b': [] } },
    right: ['png', 'PNG', 'Jpeg', 'A.B'],
    wrong: ['gif', 'pngs', 'axb', 1],
  },
  {
    schema: { type: ['string', 'integer'], choice: { png: [] }, maximum: 5 },
    right: ['png', 'PNG', 3],
    wrong: ['gif', 9, true],
  },
  {
    schema: { type: ['number', 'string'], fraction: true },
    right: [0, 0.5, 1, 2, 100, '50%', '0.25', '100%', '007', '99.5'],
    wrong: [1.5, -1, 101, '150%', 'half', true],
  },
  {
    schema: { type: ['integer', 'null'], fraction: true },
    right: [0, 50, null],
    wrong: [0.5, '1', 101],
  },
  { schema: { type: 'string', drawable: true }, right: ['é'], wrong: [1] },
];

describe('docs/openapi: the plugins’ own keywords in plain JSON Schema', () => {
  const ajv = createVocabulary();

  for (const { schema, right, wrong } of cases) {
    const inside = { type: 'object', properties: { value: schema } };
    it(`take and refuse the same: ${JSON.stringify(schema)}`, () => {
      const [own, plain] = [ajv.compile(inside), judgeBy(inside)];
      for (const value of [...right, ...wrong]) {
        const expected = right.includes(value);
        expect(own({ value }), `here ${value}`).to.equal(expected);
        expect(plain({ value }), `there ${value}`).to.equal(expected);
      }
    });
  }

  it('hold beside what is said already', () => {
    const judge = judgeBy({ type: 'string', color: true, pattern: '^#' });
    expect(judge('#abc')).to.equal(true);
    expect(judge('red')).to.equal(false);
    expect(judge('#abcde')).to.equal(false);
  });
});
