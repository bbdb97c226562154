import { expect } from 'chai';
import { errorTable } from '../../../gateway/errors.js';
import { codesIn, readText, rowsOf, sectionOf } from '../../readme.js';

describe('gateway/http/README', () => {
  it('names every error code with its status, and no other', () => {
    const rows = rowsOf(sectionOf(readText('gateway/http/README.md'), 'Errors'));
    const documented = rows.flatMap(([status, codes]) =>
      codesIn(codes).map((code) => [code, Number(status)]),
    );
    const real = Object.entries(errorTable).map(([code, { status }]) => [code, status]);
    expect(documented).to.have.deep.members(real);
  });
});
