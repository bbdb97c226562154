import { expect } from 'chai';
import { defineHelper, fail, invalidInput } from '../../gateway/helper.js';

describe('the public interface', () => {
  it('gives a declaration back as it is', () => {
    const handler = () => ({});
    const declaration = { summary: 'Some.', input: { type: 'object' }, handler } as const;
    expect(defineHelper(declaration)).to.equal(declaration);
  });

  it('makes the error of input that a schema cannot judge', () => {
    const error = invalidInput('until', 'must lie after since');
    expect(error).to.be.an.instanceOf(Error);
    expect(error).to.include({ message: 'until must lie after since', code: 'invalid_input' });
    expect(error).to.have.deep.property('details', [{ field: 'until', problem: 'must lie after since' }]);
  });

  it('makes the errors of the world outside, whose message is public', () => {
    for (const code of ['not_found', 'conflict', 'upstream_failed'] as const) {
      const error = fail(code, 'There is no such page.');
      expect(error).to.be.an.instanceOf(Error);
      expect(error).to.include({ code, message: 'There is no such page.', expose: true });
    }
  });

  it('tells an author of JavaScript which errors there are', () => {
    // @ts-expect-error: it is what types would refuse
    expect(() => fail('teapot', 'x')).to.throw(
      TypeError,
      /no code "teapot"; write one of not_found, conflict/,
    );
  });
});
