import { expect } from 'chai';
import { checkDeclaration } from '../../../schemas/declaration.js';
import { describeDeclaration, sourceField } from '../../../schemas/declared-helper.js';
import { uploadsOf } from '../../../schemas/parameters/parameters.js';
import { checkerOf } from '../checker.js';

const url = 'https://a.example/b.png';

describe('checking the parameters of an image helper', () => {
  const width = { type: 'integer', minimum: 0, maximum: 5000, default: 20 };
  const input = { properties: { width } };
  const { check, problems, properties, coerce } = checkerOf(input, { files: [sourceField] });

  it('wants exactly one of url and file, and neither in a dry run', () => {
    expect([...problems({ url }), ...problems({}, { uploaded: ['file'] })]).to.deep.equal([]);
    expect(problems({})).to.deep.equal(['url is required: send the url of a picture, or upload one as file']);
    expect(problems({ url }, { uploaded: ['file'] })).to.deep.equal([
      'url is sent together with an uploaded file; send only one of url and file',
    ]);
    expect(check({}, { dryrun: true })).to.deep.equal({ input: { width: 20 }, problems: [] });
  });

  it('says how a file is sent where it came as text', () => {
    expect(problems({ url, file: 'abc' })[0]).to.contain('multipart/form-data');
  });

  it('documents url and dryrun beside its own', () => {
    const documented = properties.map(({ name, required }) => `${name} ${required}`);
    expect(documented).to.deep.equal(['url false', 'width false', 'dryrun false']);
    expect(properties[1]?.allowed).to.equal('an integer from 0 to 5000');
    const read = [coerce('width', '5'), coerce('dryrun', '1'), coerce('__proto__', '1')];
    expect(read).to.deep.equal([5, true, '1']);
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
  const { problems, properties: documented } = checkerOf(good.input, { files: [sourceField, ...files] });
  const byUrl = { mark_url: url };
  const withText = { text: 'a' };
  const isMissing =
    'text is required: a string of 1 to 9 characters; or in its place send the url of a picture as mark_url, or upload one as mark';
  const together = 'mark_url is sent together with text; send only one of text and mark_url';
  const markTogether = 'mark is sent together with text; send only one of text and mark';
  const pointless = 'size means nothing beside mark_url';
  const besideMark = 'size means nothing beside mark';
  const without = 'scale means nothing without mark_url or mark';

  // How each is sent: with the source uploaded, with the mark too, or in a dry run.
  for (const [what, how, sent, expected] of [
    ['comes where the parameter does not', 'plain', withText, []],
    ['comes by its url', 'plain', byUrl, []],
    ['comes as an upload', 'mark', {}, []],
    ['is asked for where neither comes', 'plain', {}, [isMissing]],
    ['does not come beside it', 'plain', { ...withText, ...byUrl }, [together]],
    ['does not come beside it in a dry run', 'dry', { ...withText, ...byUrl }, [together]],
    ['does not come as an upload beside it', 'mark', withText, [markTogether]],
    ['is not needed in a dry run', 'dry', {}, []],
    ['is refused beside what means nothing with it', 'plain', { ...byUrl, size: 3, scale: 1 }, [pointless]],
    ['is refused beside that in a dry run', 'dry', { ...byUrl, size: 3 }, [pointless]],
    ['has one problem of that, whatever else is wrong', 'mark', { size: 30 }, [besideMark]],
    ['is missed by what means nothing without it', 'plain', { ...withText, size: 3, scale: 1 }, [without]],
    ['is not missed by that in a dry run', 'dry', { size: 3, scale: 1 }, []],
  ] as const) {
    it(what, () => {
      const uploaded = { plain: ['file'], mark: ['file', 'mark'], dry: [] }[how];
      expect(problems(sent, { dryrun: how === 'dry', uploaded })).to.deep.equal(expected);
    });
  }

  it('is given once itself, and is reported with all other problems', () => {
    const mistakes = problems({ ...byUrl, more: 1 }, { uploaded: ['mark'] });
    expect(mistakes.map((problem) => problem.split(' ')[0])).to.deep.equal(['url', 'mark_url', 'more']);
    expect(mistakes[1]).to.contain('together with an uploaded file; send only one of mark_url and mark');
  });

  it('has one problem of what means nothing, whatever rules there are', () => {
    const onlyWith = { size: { scale: [1] } };
    const ruled = checkerOf({ ...good.input, onlyWith }, { files: [sourceField, ...files] });
    expect(ruled.problems({ size: 3 }, { uploaded: ['file', 'mark'] })).to.deep.equal([besideMark]);
  });

  it('is documented at either of them', () => {
    const described = new Map(documented.map(({ name, schema }) => [name, schema.description]));
    expect(described.get('text')).to.equal('A word. Required, unless a file comes as mark_url or mark.');
    expect(described.get('mark_url')).to.match(/^Takes the place of text. Public https address of the p/);
  });

  it('comes with examples that lack the parameter', () => {
    const uploads = [{}, withText, byUrl].map((input) => uploadsOf(files, input));
    expect(uploads).to.deep.equal([['mark'], [], []]);
  });

  const markWith = (change: object) => ({ files: { mark: { ...mark, ...change } } });
  const other = (change: object) => ({ files: { mark, other: { kind: 'bytes', ...change } } });
  const inputWith = (input: object) => ({ input: { type: 'object', properties, ...input } });
  const defaulted = { ...properties, text: { ...properties.text, default: 'a' } };
  const parameterOf = (name: string, file = 'mark') =>
    `the parameter ${name} of files.${file} has the name of`;

  const reasons = {
    'the parameter of files.mark, "a b" needs another name': markWith({ parameter: 'a b' }),
    [`${parameterOf('text')} a parameter`]: markWith({ parameter: 'text' }),
    [`${parameterOf('ak')} a parameter`]: markWith({ parameter: 'ak' }),
    [`${parameterOf('mark', 'other')} the file mark`]: other({ parameter: 'mark' }),
    [`${parameterOf('mark_url', 'other')} the parameter of files.mark`]: other({ parameter: 'mark_url' }),
    'files.mark.insteadOf is "txt", which is no parameter of input; did you mean "text"?': markWith({
      insteadOf: 'txt',
    }),
    'files.other.insteadOf names text, as files.mark does': other({ insteadOf: 'text' }),
    'files.mark.insteadOf cannot be used where the file is required': markWith({ required: true }),
    'files.mark.insteadOf cannot name text while input.required does': inputWith({ required: ['text'] }),
    'files.mark.insteadOf cannot name text, which has a default': inputWith({ properties: defaulted }),
  };

  for (const [reason, change] of Object.entries(reasons)) {
    it(`is refused in a declaration: ${reason}`, () => {
      const found = checkDeclaration({ ...good, ...change });
      expect(found).to.have.length(1);
      expect(found[0]).to.contain(reason);
    });
  }
});
