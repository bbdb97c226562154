import { expect } from 'chai';
import { readWords, serviceAt } from '../../../../gateway/commands/call/words.js';

const read = (...words: string[]) => readWords(words, (name) => name === 'dryrun');

describe('the words behind call SERVICE', () => {
  it('are parameters by the schema’s own names, in either form', () => {
    const { values, files } = read('--font_size', '20', '--text=a=b', 'a.jpg', '--width', '-1');
    expect([...values]).to.deep.equal([
      ['font_size', '20'],
      ['text', 'a=b'],
      ['width', '-1'],
    ]);
    expect(files).to.deep.equal(['a.jpg']);
  });

  it('take a boolean alone, or with what is one', () => {
    const { values, files } = read('--dryrun', 'a.jpg');
    expect([values.get('dryrun'), files]).to.deep.equal(['true', ['a.jpg']]);
    expect(read('--dryrun', 'false').values.get('dryrun')).to.equal('false');
    expect(read('--dryrun=0').values.get('dryrun')).to.equal('0');
  });

  it('read - from standard input, but what was set as it is', () => {
    expect(read('--text', '-').fromInput).to.deep.equal(['text']);
    expect(read('-').files).to.deep.equal(['-']);
    expect(read('--set', 'text=-').values.get('text')).to.equal('-');
    expect(read('--set', 'out=x').values.get('out')).to.equal('x');
  });

  it('are the command’s own where they have its names', () => {
    expect(read('--json', '--help', '--out', 'a', '--out-dir=b')).to.include({
      json: true,
      help: true,
      out: 'a',
      outDir: 'b',
    });
  });

  it('have no options of one dash', () => {
    const { files, problems } = read('-o', '--', '-o');
    expect([files, problems.map(({ field }) => field)]).to.deep.equal([['-o'], ['-o']]);
  });

  it('take all behind -- for files', () => {
    expect(read('--', '--width', '-')).to.deep.include({ files: ['--width', '-'] });
  });

  it('tell what lacks a value and what is given twice, all at once', () => {
    const { problems } = read('--a', '1', '--a', '2', '--b', '--c', '3', '--set', 'x', '--d');
    expect(problems.map(({ field }) => field)).to.deep.equal(['a', 'b', 'set', 'd']);
  });

  it('hold the helper’s name behind options too', () => {
    const named = (words: string[], ids = ['a/b', 'c']) =>
      words[serviceAt(words, (word) => ids.includes(word), ['server'])];
    expect(named(['a/b', '--n', '1', 'x.jpg'])).to.equal('a/b');
    expect(named(['--server', 'c', '--out', 'c', '--n', '1', 'a/b'])).to.equal('a/b');
    // A boolean, and a value that is called like another helper.
    expect(named(['--dryrun', 'a/b', 'x.jpg'])).to.equal('a/b');
    expect(named(['--text', 'c', 'a/b'])).to.equal('a/b');
    expect(named(['a/b', 'c'])).to.equal('a/b');
    expect(named(['--json', '--n=1', 'a/b'])).to.equal('a/b');
    // What is to be called unknown.
    expect(named(['--n', '10', 'a/x', 'y'])).to.equal('a/x');
    expect(named(['--n', '10'])).to.equal('10');
    expect(named(['--', 'a/b'])).to.equal(undefined);
  });
});
