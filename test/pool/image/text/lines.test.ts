import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  breakable,
  breakLines,
  joinsAt,
  lineOf,
  paragraphOf,
  parted,
  type Widths,
} from '../../../../pool/image/text/lines.js';

const bidi = (createRequire(import.meta.url)('bidi-js') as () => Bidi)();
/** What has no ink and no width, or only changes directions. */
const unseen = /[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;

/** Characters from left to right, as a renderer shows the units from `start` to `end` of a text. */
function shown(text: string, base: 'ltr' | 'auto', start = 0, end = text.length): string {
  const { levels, paragraphs } = bidi.getEmbeddingLevels(text, base);
  // By rule X9 these are not there when the rest is put in order.
  const kept = Array.from({ length: end - start }, (_, i) => start + i).filter(
    (i) => !/[\u200d\u202a-\u202e]/.test(text[i] as string),
  );
  const line = kept.map((i) => text[i]).join('');
  const order = bidi.getReorderedIndices(line, {
    levels: Uint8Array.from(kept, (i) => levels[i] as number),
    paragraphs: [{ start: 0, end: line.length - 1, level: paragraphs[0]?.level ?? 0 }],
  });
  const visual = order.map((index) => line[index] as string);
  return visual.filter((character) => !unseen.test(character)).join('');
}

describe('lineOf', () => {
  it('leaves a text from left to right as it is', () => {
    const text = 'Plain & “quoted”, 12 - 34: Ελλ Кир 中文';
    expect(lineOf(paragraphOf(text), 0, text.length)).to.equal(text);
    expect(lineOf(paragraphOf(text), 6, 7)).to.equal('&');
  });

  it('shows a Hebrew sentence’s "!" on the left, and signs between its numbers as they are read', () => {
    const text = 'שלום! 12 - 34';
    const line = lineOf(paragraphOf(text), 0, text.length);
    expect(shown(line, 'ltr')).to.equal([...'34 - 12 !םולש'].join(''));
  });

  it('shows a line of numbers by the words of the line before', () => {
    const text = 'abc אבג 12 - 34';
    const line = lineOf(paragraphOf(text), 8, text.length);
    expect(shown(line, 'ltr')).to.equal('34 - 12');
    expect(shown('12 - 34', 'ltr')).to.equal('12 - 34');
  });

  it('keeps an isolate open over lines', () => {
    const text = 'a \u2067אבג, def!\u2069 z';
    const line = lineOf(paragraphOf(text), text.indexOf('def'), text.indexOf(' z'));
    expect(shown(line, 'ltr')).to.equal('!def');
  });

  it('puts what is added at the edges where the line ends, and where its characters are', () => {
    const text = 'אבג דהו';
    const line = lineOf(paragraphOf(text), 0, 3, { before: '<', after: '>', ending: '…' });
    expect(shown(line, 'ltr')).to.equal('…>גבא<');
    const within = 'abc אבג דהו';
    expect(shown(lineOf(paragraphOf(within), 4, 7, { ending: '…' }), 'ltr')).to.equal('גבא…');
  });

  it('takes a script beyond 16 bits from right to left too', () => {
    const adlam = '\u{1e900}\u{1e901}\u{1e902}';
    const line = lineOf(paragraphOf(adlam), 0, adlam.length);
    expect(line).to.equal(`\u202d\u202e${adlam}`);
  });

  it('shows each line of any paragraph as UAX #9 does for the whole', () => {
    const character = fc.constantFrom(
      ...'abאבجد 12٣٤.,:-+$%()[]!/ ',
      ...'\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200d',
    );
    const text = fc
      .array(character, { minLength: 1, maxLength: 40 })
      .map((characters) => characters.join(''));
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (whole, one, other) => {
        const places = [one % whole.length, other % whole.length].toSorted((a, b) => a - b);
        const [start, last] = places as [number, number];
        const line = lineOf(paragraphOf(whole), start, last + 1);
        // Spaces at a line's end are invisible on either side.
        expect(shown(line, 'ltr').trim()).to.equal(shown(whole, 'auto', start, last + 1).trim());
      }),
      { numRuns: 3000 },
    );
  });
});

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
