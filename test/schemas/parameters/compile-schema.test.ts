import { expect } from 'chai';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

const compile = (output: Record<string, unknown>) => compileOutput(createVocabulary(), output);
const size = { type: 'object', required: ['w'], properties: { w: { type: 'integer', default: 1 } } };

describe('compileOutput', () => {
  it('names the place of what is not as declared', () => {
    const check = compile({ type: 'object', properties: { size, list: { type: 'array', items: size } } });
    expect(check({ size: { w: 1 }, list: [{ w: 2 }] })).to.deep.equal([]);
    const fields = check({ size: { w: 'a' }, list: [{ w: 2 }, { w: 0.5 }] }).map(({ field }) => field);
    expect(fields).to.deep.equal(['size.w', 'list.1.w']);
  });

  it('refuses a field that is not declared, at any depth, where the schema does not allow others', () => {
    const check = compile({ type: 'object', properties: { size } });
    expect(check({ size: { w: 1, h: 2 }, more: 1 }).map(({ field }) => field)).to.have.members([
      'size.h',
      'more',
    ]);
    expect(
      compile({ type: 'object', properties: {}, additionalProperties: true })({ more: 1 }),
    ).to.deep.equal([]);
    expect(compile({ type: 'object' })({ more: 1 })).to.deep.equal([]);
  });

  it('leaves its argument as it is', () => {
    const data = { color: 'RED' };
    const properties = { color: { type: 'string', color: true }, size: { type: 'integer', default: 3 } };
    compile({ type: 'object', properties })(data);
    expect(data).to.deep.equal({ color: 'RED' });
  });

  it('names all faults of a schema', () => {
    const properties = { a: { type: 'strin' }, b: { minimun: 1 } };
    expect(() => compile({ type: 'object', properties })).to.throw(
      /output is not a valid schema: (?=.*output\.properties\.a\.type)[\s\S]*output\.properties\.b\.minimun/,
    );
  });
});
