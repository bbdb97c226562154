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
  {
    schema: { type: 'string', color: { auto: true } },
    right: ['auto', 'Auto', '#FFF', 'dark red'],
    wrong: ['#ffff', 'rgb(1 2 3 / 50%)', 7],
  },
  {
    schema: {
      type: ['integer', 'string'],
      measure: { minimum: 4, maximum: 90, percent: true, auto: true },
      default: 'auto',
    },
    right: [4, 90, '20', '0020', '0%', '5.5%', '007%', '100.0%', 'auto', 'AUTO'],
    wrong: [3, 91, 4.5, '-5', '100.1%', '5 %', '5.1234567%', 'automatic', '20px', '', true],
  },
  {
    schema: { type: ['integer', 'string'], measure: { minimum: 0, maximum: 9 } },
    right: [0, 9, '9'],
    wrong: [10, '5%', 'auto', '1.5'],
  },
  {
    schema: { type: 'string', choice: { png: [], avif: [] }, encodable: true },
    right: ['png', 'AVIF'],
    wrong: ['gif'],
  },
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
