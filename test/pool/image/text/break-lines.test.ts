import { expect } from 'chai';
import fc from 'fast-check';
import { paragraphOf } from '../../../../pool/image/text/bidi.js';
import { breakable, breakLines, type Widths } from '../../../../pool/image/text/break-lines.js';
import { joinsAt, parted } from '../../../../pool/image/text/joining.js';

/** Every grapheme is as wide as any other, but for what has no width. */
const widths: Widths = { of: (grapheme) => (/^[\u00ad\u200b]$/.test(grapheme) ? 0 : 1), ellipsis: '…' };

function linesOf(text: string, room: number, maxLines = 100): string[] {
  const paragraphs = text.split('\n').map((part) => breakable(paragraphOf(part), widths));
  return breakLines(paragraphs, room, maxLines, widths).map((line) => line.text);
}

describe('breakLines', () => {
  it('breaks between words and drops the spaces there, and no others', () => {
    expect(linesOf('one two  three', 8)).to.deep.equal(['one two', 'three']);
    expect(linesOf('one  two', 8)).to.deep.equal(['one  two']);
    expect(linesOf('one   two', 4)).to.deep.equal(['one', 'two']);
  });

  it('breaks where Unicode lets a line end: after hyphens and zero width spaces, between ideographs', () => {
    expect(linesOf('well-known', 6)).to.deep.equal(['well-', 'known']);
    expect(linesOf('left\u200bright', 6)).to.deep.equal(['left', 'right']);
    expect(linesOf('日本語です。', 3)).to.deep.equal(['日本語', 'です。']);
    expect(linesOf('a\u00a0b c', 3)).to.deep.equal(['a\u00a0b', 'c']);
    expect(linesOf('(one) two', 6)).to.deep.equal(['(one)', 'two']);
  });

  it('shows the hyphen of a soft hyphen where a line ends in one', () => {
    expect(linesOf('hyphen\u00adation', 8)).to.deep.equal(['hyphen\u00ad-', 'ation']);
    expect(linesOf('hyphen\u00adation', 6)).to.deep.equal(['hyphen', '\u00adation']);
  });

  it('breaks a word that is too long between graphemes', () => {
    expect(linesOf('a abcdefgh b', 3)).to.deep.equal(['a', 'abc', 'def', 'gh', 'b']);
    expect(linesOf('e\u0301e\u0301e\u0301', 2)).to.deep.equal(['e\u0301e\u0301', 'e\u0301']);
    expect(linesOf('abc', 0.5)).to.deep.equal(['a', 'b', 'c']);
  });

  it('begins a line at a line break, and leaves an empty one empty', () => {
    expect(linesOf('a\n\nb c', 10)).to.deep.equal(['a', '', 'b c']);
  });

  it('ends the last of too many lines in an ellipsis', () => {
    expect(linesOf('one two three four', 8, 2)).to.deep.equal(['one two', 'three f…']);
    expect(linesOf('one two three four', 7, 2)).to.deep.equal(['one two', 'three…']);
    expect(linesOf('a\nb\nc', 8, 2)).to.deep.equal(['a', 'b…']);
    expect(linesOf('one two', 8, 1)).to.deep.equal(['one two']);
    expect(linesOf('abc', 0.5, 1)).to.deep.equal(['…']);
  });

  it('keeps all ink, in lines that fit, whatever the text', () => {
    const piece = fc.constantFrom(
      ...'aé -.,/(「語한',
      'e\u0301',
      '\u00ad',
      '\u200b',
      '\u00a0',
      'ب',
      'א',
      '👩‍👧',
      '\u{1f1e9}\u{1f1ea}',
      '"',
      '%',
    );
    const inked = (text: string) => text.replace(/[\s-]|\p{Cf}/gu, '');
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 1, max: 12 }),
        (pieces, room) => {
          const text = pieces.join('');
          const lines = breakLines([breakable(paragraphOf(text), widths)], room, 1000, widths);
          expect(inked(lines.map((line) => line.text).join(''))).to.equal(inked(text));
          for (const line of lines) expect(line.width, JSON.stringify(line.text)).to.be.at.most(room);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('joinsAt', () => {
  it('tells where Arabic letters join', () => {
    expect(joinsAt('بب', 1)).to.equal(true);
    expect(joinsAt('بَب', 2)).to.equal(true);
    expect(joinsAt('دب', 1)).to.equal(false);
    expect(joinsAt('بء', 1)).to.equal(false);
    expect(joinsAt('ب ب', 1)).to.equal(false);
    expect(joinsAt('ba', 1)).to.equal(false);
    expect(joinsAt('ب', 0) || joinsAt('ب', 1)).to.equal(false);
  });

  it('lets the parts of a word keep their shape', () => {
    const [first, second] = linesOf('ببببب', 3) as [string, string];
    expect(first).to.equal(`\u202d\u202eببب${parted.end}`);
    expect(second).to.equal(`\u202d\u202e${parted.start}بب`);
    expect(linesOf('دددد', 2)).to.deep.equal(['\u202d\u202eدد', '\u202d\u202eدد']);
  });
});
