import { expect } from 'chai';
import { conditioned } from '../../../../../gateway/docs/openapi/schema/conditions.js';
import { pictureOutput, pictureOutputRules } from '../../../../../gateway/helper.js';
import type { JsonSchema } from '../../../../../schemas/json-schema.js';
import { compileParameters } from '../../../../../schemas/parameters.js';
import { createVocabulary } from '../../../../../schemas/vocabulary/vocabulary.js';
import { judgeBy } from './convert.js';

const input: JsonSchema = {
  type: 'object',
  properties: {
    ...pictureOutput,
    wrap: { type: 'boolean', default: true },
    lines: { type: 'integer' },
    kind: { enum: ['a', 'b'] },
    border: { type: 'string', color: { auto: true } },
    depth: { type: 'integer' },
  },
  onlyWith: { ...pictureOutputRules, lines: { wrap: [true], kind: ['a'] }, depth: { border: ['auto'] } },
};

const calls = [
  { quality: 5 },
  { quality: 5, format: 'png' },
  { quality: 5, format: 'PNG' },
  { quality: 5, format: 'jpg' },
  { quality: 5, format: 'JPEG' },
  { quality: 5, format: 'same' },
  { format: 'png' },
  { lines: 1 },
  { lines: 1, kind: 'a' },
  { lines: 1, kind: 'b' },
  { lines: 1, kind: 'a', wrap: true },
  { lines: 1, kind: 'a', wrap: false },
  { depth: 1 },
  { depth: 1, border: 'Auto' },
  {},
];

describe('docs/openapi: what goes with what', () => {
  for (const [what, schema] of Object.entries({
    alone: input,
    'beside dependencies of its own': { ...input, dependencies: { depth: ['border'] }, allOf: [{}] },
  })) {
    it(`is taken and refused as here, ${what}`, () => {
      const { check } = compileParameters(createVocabulary(), { input: schema });
      const judge = judgeBy(conditioned(schema));
      for (const call of calls) {
        const { problems } = check(call, { dryrun: false });
        expect(judge({ ...call }), JSON.stringify(call)).to.equal(problems.length === 0);
      }
    });
  }

  it('leaves out what it has no words for', () => {
    const judge = judgeBy(conditioned(input));
    expect(judge({ depth: 1, border: 'red' })).to.equal(true);
    expect(conditioned({ type: 'object', onlyWith: {} })).to.deep.equal({ type: 'object' });
  });
});
