import { expect } from 'chai';
import plugin from '../../../../plugins/text/diff-two-strings/index.js';
import { diff } from './diff.js';

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');

describe('text/diff-two-strings', () => {
  it('shows a changed line with its context', () => {
    expect(diff('one\ntwo\nthree\n', 'one\n2\nthree\n')).to.equal('@@ -1,3 +1,3 @@\n one\n-two\n+2\n three');
  });

  it('answers equal texts with an empty string', () => {
    expect(diff('', '')).to.equal('');
    expect(diff('same\n', 'same\n')).to.equal('');
    expect(diff('same', 'same', { patch: true })).to.equal('');
  });

  it('shows three lines of context by default', () => {
    expect(diff(numbered(9), numbered(9).replace('5\n', 'five\n'))).to.equal(
      '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8',
    );
  });

  it('takes the context that is asked for, up to the whole text', () => {
    const changed = numbered(9).replace('5\n', 'five\n');
    expect(diff(numbered(9), changed, { context: 0 })).to.equal('@@ -5 +5 @@\n-5\n+five');
    expect(diff(numbered(9), changed, { context: 1 })).to.equal('@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6');
    expect(diff(numbered(9), changed, { context: 1000 })).to.match(/^@@ -1,9 \+1,9 @@\n 1\n/);
  });

  it('leaves a count of one out', () => {
    expect(diff('a\n', 'b\n')).to.equal('@@ -1 +1 @@\n-a\n+b');
  });

  it('names the line before an empty range', () => {
    expect(diff('a\nb\n', 'a\nx\nb\n', { context: 0 })).to.equal('@@ -1,0 +2 @@\n+x');
    expect(diff('a\nx\nb\n', 'a\nb\n', { context: 0 })).to.equal('@@ -2 +1,0 @@\n-x');
  });

  it('counts from 0 where one text is empty', () => {
    expect(diff('', 'a\nb\n')).to.equal('@@ -0,0 +1,2 @@\n+a\n+b');
    expect(diff('a\n', '')).to.equal('@@ -1 +0,0 @@\n-a');
    expect(diff('', '\n')).to.equal('@@ -0,0 +1 @@\n+');
  });

  it('splits hunks at more than twice the context of unchanged lines', () => {
    const ends = (count: number) => [`a\n${numbered(count)}b`, `A\n${numbered(count)}B`] as const;
    const hunks = (text: string) => text.match(/^@@/gm)?.length;
    expect(hunks(diff(...ends(6)))).to.equal(1);
    expect(hunks(diff(...ends(7)))).to.equal(2);
    expect(hunks(diff('a\n1\nb', 'A\n1\nB', { context: 0 }))).to.equal(2);
    expect(hunks(diff('a\nb', 'A\nB', { context: 0 }))).to.equal(1);
  });

  it('compares lines by content where neither text ends in a newline', () => {
    expect(diff('one', 'one\ntwo')).to.equal('@@ -1 +1,2 @@\n one\n+two');
    expect(diff('', 'one')).to.equal('@@ -0,0 +1 @@\n+one');
  });

  it('marks a missing final newline where only the other text has one', () => {
    expect(diff('one\n', 'one')).to.equal('@@ -1 +1 @@\n-one\n+one\n\\ No newline at end of file');
    expect(diff('one', 'one\ntwo\n')).to.equal(
      '@@ -1 +1,2 @@\n-one\n\\ No newline at end of file\n+one\n+two',
    );
  });

  it('has no marker for a text without lines', () => {
    expect(diff('', 'one\n')).to.equal('@@ -0,0 +1 @@\n+one');
    expect(diff('one', '')).to.equal('@@ -1 +0,0 @@\n-one');
  });

  it('ends lines at \\n only', () => {
    expect(diff('a\r\n', 'a\n')).to.equal('@@ -1 +1 @@\n-a\r\n+a');
    expect(diff('a\rb\u2028c\u0085d', 'x')).to.equal('@@ -1 +1 @@\n-a\rb\u2028c\u0085d\n+x');
  });

  it('keeps NUL characters, lone surrogates and lines that look like a diff', () => {
    expect(diff('\0\n', '\ud800\n')).to.equal('@@ -1 +1 @@\n-\0\n+\ud800');
    expect(diff('--- a\n@@ -1 +1 @@\n', '+++ b\n@@ -1 +1 @@\n')).to.equal(
      '@@ -1,2 +1,2 @@\n---- a\n++++ b\n @@ -1 +1 @@',
    );
  });

  it('tells lines apart that are names of object properties', () => {
    expect(diff('__proto__\nconstructor\n', 'constructor\n__proto__\n').split('\n')).to.have.length(4);
  });

  it('adds headers, every marker and a final newline for a patch', () => {
    expect(diff('one', 'one\ntwo', { patch: true })).to.equal(
      '--- a/text\n+++ b/text\n@@ -1 +1,2 @@\n-one\n\\ No newline at end of file\n+one\n+two\n\\ No newline at end of file\n',
    );
    expect(diff('one\ntwo', '1\ntwo', { patch: true })).to.equal(
      '--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n\\ No newline at end of file\n',
    );
  });

  it('puts an added block together where the text repeats', () => {
    expect(diff('x\np\nn\n', 'n\nx\nx\np\n', { context: 0 })).to.equal(
      '@@ -0,0 +1,2 @@\n+n\n+x\n@@ -3 +4,0 @@\n-n',
    );
    const block = (name: string) => `${name} {\n  body\n}\n\n`;
    expect(
      diff(`0\n${block('a')}${block('c')}0\n`, `1\n${block('a')}${block('b')}${block('c')}1\n`, {
        context: 0,
      }),
    ).to.contain('\n+b {\n+  body\n+}\n+\n@@');
  });

  it('leaves the main thread and gives the diff in a dry run', () => {
    expect(plugin.runs).not.to.equal('inline');
    expect(plugin.dryrun).to.equal('run');
  });
});
