import { expect } from 'chai';
import { variantOf } from '../../../gateway/pipeline/variant.js';

describe('what makes a helper’s calls unlike in cost', () => {
  const variant = (format: object | undefined, given: Record<string, unknown>) => {
    const input = { type: 'object', properties: format === undefined ? {} : { format } };
    return variantOf({ declaration: { input } } as never)(given);
  };

  it('is the format, where it is one of a few', () => {
    expect(variant({ type: 'string', choice: { png: [], avif: [] } }, { format: 'avif' })).to.equal('avif');
    expect(variant({ enum: ['short', 'long'] }, { format: 'long' })).to.equal('long');
  });

  it('is nothing where callers could make up as many as they like', () => {
    expect(variant({ type: 'string' }, { format: 'anything' })).to.equal(undefined);
    expect(variant(undefined, { format: 'anything' })).to.equal(undefined);
    expect(variant({ enum: [1, 2] }, { format: 1 })).to.equal(undefined);
  });
});
