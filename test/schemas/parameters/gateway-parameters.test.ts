import { expect } from 'chai';
import { checkDeclaration } from '../../../schemas/declaration.js';
import { describeDeclaration, sourceField } from '../../../schemas/declared-helper.js';
import { compileParameters, uploadsOf } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

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

const properties = {
  size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
  scale: { type: 'number', minimum: 0, maximum: 1, default: 0.2 },
  text: { type: 'string', minLength: 1, maxLength: 9, description: 'A word.' },
};
const options = { notWith: ['size'], options: ['scale'] };
const mark = { kind: 'image', parameter: 'mark_url', insteadOf: 'text', ...options };
const good = { summary: 'x', input: { type: 'object', properties }, files: { mark }, handler: () => ({}) };

describe('a file that replaces a parameter', () => {
  const { files } = describeDeclaration(good);
  const { check, properties: documented } = compileParameters(createVocabulary(), {
    files: [sourceField, ...files],
    input: good.input,
  });
  const problemsOf = (input: object, uploaded: string[] = ['file'], dryrun = false) =>
    check({ ...input }, { dryrun, uploaded }).problems;

  it('comes where the parameter does not, as an upload or by its url', () => {
    expect(problemsOf({ text: 'a' })).to.deep.equal([]);
    expect(problemsOf({ mark_url: 'https://a.example/b.png' })).to.deep.equal([]);
    expect(problemsOf({}, ['file', 'mark'])).to.deep.equal([]);
    expect(problemsOf({})).to.deep.equal([
      {
        field: 'text',
        problem:
          'is required: a string of 1 to 9 characters; or in its place send the url of a picture as mark_url, or upload one as mark',
      },
    ]);
  });

  it('does not come beside it, in a dry run neither, which needs none of them', () => {
    const both = { text: 'a', mark_url: 'https://a.example/b.png' };
    const problem = 'is sent together with text; send only one of text and mark_url';
    expect(problemsOf(both)).to.deep.equal([{ field: 'mark_url', problem }]);
    expect(problemsOf(both, [], true)).to.deep.equal([{ field: 'mark_url', problem }]);
    expect(problemsOf({ text: 'a' }, ['file', 'mark'])).to.deep.equal([
      { field: 'mark', problem: 'is sent together with text; send only one of text and mark' },
    ]);
    expect(problemsOf({}, [], true)).to.deep.equal([]);
  });

  it('is given once itself, and is reported with all other problems', () => {
    const mistakes = problemsOf({ mark_url: 'https://a.example/b.png', more: 1 }, ['mark']);
    expect(mistakes.map(({ field }) => field)).to.deep.equal(['url', 'mark_url', 'more']);
    expect(mistakes[1]?.problem).to.equal(
      'is sent together with an uploaded file; send only one of mark_url and mark',
    );
  });

  it('is refused beside what means nothing with it, and so is what means nothing without it', () => {
    const url = 'https://a.example/b.png';
    const beside = { field: 'size', problem: 'means nothing beside mark_url' };
    expect(problemsOf({ mark_url: url, size: 3, scale: 1 })).to.deep.equal([beside]);
    expect(problemsOf({ mark_url: url, size: 3 }, [], true)).to.deep.equal([beside]);
    expect(problemsOf({ size: 3 }, ['file', 'mark'])[0]?.problem).to.equal('means nothing beside mark');
    const without = { field: 'scale', problem: 'means nothing without mark_url or mark' };
    expect(problemsOf({ text: 'a', size: 3, scale: 1 })).to.deep.equal([without]);
    expect(problemsOf({ size: 3, scale: 1 }, [], true)).to.deep.equal([]);
  });

  it('has one problem of what means nothing, whatever else is wrong with it', () => {
    const beside = { field: 'size', problem: 'means nothing beside mark' };
    expect(problemsOf({ size: 30 }, ['file', 'mark'])).to.deep.equal([beside]);
    const ruled = compileParameters(createVocabulary(), {
      files: [sourceField, ...files],
      input: { ...good.input, onlyWith: { size: { scale: [1] } } },
    });
    const { problems } = ruled.check({ size: 3 }, { dryrun: false, uploaded: ['file', 'mark'] });
    expect(problems).to.deep.equal([beside]);
  });

  it('is documented at either of them', () => {
    const described = new Map(documented.map(({ name, schema }) => [name, schema.description]));
    expect(described.get('text')).to.equal('A word. Required, unless a file comes as mark_url or mark.');
    expect(described.get('mark_url')).to.contain(
      'Takes the place of text. Public https address of the picture',
    );
  });

  it('comes with examples that lack the parameter', () => {
    expect(uploadsOf(files, {})).to.deep.equal(['mark']);
    expect(uploadsOf(files, { text: 'a' })).to.deep.equal([]);
    expect(uploadsOf(files, { mark_url: 'x' })).to.deep.equal([]);
  });

  const withMark = (change: object) => ({ files: { mark: { ...mark, ...change } } });
  const withOther = (change: object) => ({ files: { mark, other: { kind: 'bytes', ...change } } });

  const reasons = {
    'the parameter of files.mark, "a b" needs another name': withMark({ parameter: 'a b' }),
    'the parameter text of files.mark has the name of a parameter': withMark({ parameter: 'text' }),
    'the parameter ak of files.mark has the name of a parameter': withMark({ parameter: 'ak' }),
    'the parameter mark of files.other has the name of the file mark': withOther({ parameter: 'mark' }),
    'the parameter mark_url of files.other has the name of the parameter of files.mark': withOther({
      parameter: 'mark_url',
    }),
    'files.mark.insteadOf is "txt", which is no parameter of input; did you mean "text"?': withMark({
      insteadOf: 'txt',
    }),
    'files.other.insteadOf names text, as files.mark does': withOther({ insteadOf: 'text' }),
    'files.mark.insteadOf cannot be used where the file is required': withMark({ required: true }),
    'files.mark.insteadOf cannot name text while input.required does': {
      input: { type: 'object', properties, required: ['text'] },
    },
    'files.mark.insteadOf cannot name text, which has a default': {
      input: { type: 'object', properties: { ...properties, text: { ...properties.text, default: 'a' } } },
    },
  };

  for (const [reason, change] of Object.entries(reasons)) {
    it(`is refused in a declaration: ${reason}`, () => {
      const found = checkDeclaration({ ...good, ...change });
      expect(found).to.have.length(1);
      expect(found[0]).to.contain(reason);
    });
  }
});
