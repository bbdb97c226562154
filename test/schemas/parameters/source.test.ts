import { expect } from 'chai';
import { sourceField } from '../../../schemas/declared-helper.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';

const real = { dryrun: false };
const dry = { dryrun: true };

describe('checking the parameters of an image helper', () => {
  const properties = { width: { type: 'integer', minimum: 0, maximum: 5000, default: 20 } };
  const { check, ...rest } = compileParameters(createVocabulary(), {
    files: [sourceField],
    input: { type: 'object', properties },
  });

  it('wants exactly one of url and file', () => {
    expect(check({ url: 'https://a.example/b.png' }, real).problems).to.deep.equal([]);
    expect(check({}, { dryrun: false, uploaded: ['file'] }).problems).to.deep.equal([]);
    expect(check({}, real).problems).to.deep.equal([
      { field: 'url', problem: 'is required: send the url of a picture, or upload one as file' },
    ]);
    expect(check({ url: 'x' }, { dryrun: false, uploaded: ['file'] }).problems).to.deep.equal([
      { field: 'url', problem: 'is sent together with an uploaded file; send only one of url and file' },
    ]);
  });

  it('wants neither in a dry run', () => {
    expect(check({}, dry)).to.deep.equal({ input: { width: 20 }, problems: [] });
  });

  it('says how a file is sent where it came as text', () => {
    expect(check({ url: 'x', file: 'abc' }, real).problems[0]?.problem).to.contain('multipart/form-data');
  });

  it('documents url and dryrun beside its own', () => {
    expect(rest.properties.map(({ name, required }) => [name, required])).to.deep.equal([
      ['url', false],
      ['width', false],
      ['dryrun', false],
    ]);
    expect(rest.properties[1]?.allowed).to.equal('an integer from 0 to 5000');
    expect([
      rest.coerce('width', '5'),
      rest.coerce('dryrun', '1'),
      rest.coerce('__proto__', '1'),
    ]).to.deep.equal([5, true, '1']);
  });
});
