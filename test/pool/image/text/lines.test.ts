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

/** A line of a text as a renderer shows it that resolves directions line by line. */
const shownLine = (text: string, start = 0, end = text.length, added?: Parameters<typeof lineOf>[3]) =>
  shown(lineOf(paragraphOf(text), start, end, added), 'ltr');

describe('lineOf', () => {
  it('leaves a text from left to right as it is', () => {
    const text = 'Plain & “quoted”, 12 - 34: Ελλ Кир 中文';
    expect(lineOf(paragraphOf(text), 0, text.length)).to.equal(text);
    expect(lineOf(paragraphOf(text), 6, 7)).to.equal('&');
  });

  it('shows a line of numbers by the words of the line before', () => {
    expect(shownLine('abc אבג 12 - 34', 8)).to.equal('34 - 12');
  });

  it('keeps an isolate open over lines', () => {
    const text = 'a \u2067אבג, def!\u2069 z';
    expect(shownLine(text, text.indexOf('def'), text.indexOf(' z'))).to.equal('!def');
  });

  it('puts what is added at the edges where the line ends, and where its characters are', () => {
    expect(shownLine('אבג דהו', 0, 3, { before: '<', after: '>', ending: '…' })).to.equal('…>גבא<');
    expect(shownLine('abc אבג דהו', 4, 7, { ending: '…' })).to.equal('גבא…');
  });

  it('runs a script beyond 16 bits from right to left too', () => {
    const adlam = '\u{1e900}\u{1e901}\u{1e902}';
    expect(lineOf(paragraphOf(adlam), 0, adlam.length)).to.equal(`\u202d\u202e${adlam}`);
  });

  it('shows each line of any paragraph as UAX #9 does for the whole', () => {
    const unit = fc.constantFrom(
      ...'abאبجد 12٣٤.,:-+$%()[]!/ ',
      ...'\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200d',
    );
    const texts = fc.string({ unit, minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(), (whole, one, other) => {
        const places = [one % whole.length, other % whole.length].toSorted((a, b) => a - b);
        const [start, end] = [places[0] as number, (places[1] as number) + 1];
        // Spaces at a line's end are invisible on either side.
        expect(shownLine(whole, start, end).trim()).to.equal(shown(whole, 'auto', start, end).trim());
      }),
      { numRuns: 3000 },
    );
  });
});

/** Every grapheme is as wide as any other, but for what has no width. */
const widths: Widths = { of: (grapheme) => (/^[\u00ad\u200b]$/.test(grapheme) ? 0 : 1), ellipsis: '…' };

function linesOf(text: string, maxWidth: number, maxLines = 100): string[] {
  const paragraphs = text.split('\n').map((part) => breakable(paragraphOf(part), widths));
  return breakLines(paragraphs, maxWidth, maxLines, widths).map((line) => line.text);
}

type Row = [text: string, maxWidth: number, lines: string[], maxLines?: number];

const rows: Record<string, Row[]> = {
  'breaks between words and drops the spaces there, and no others': [
    ['one two  three', 8, ['one two', 'three']],
    ['one  two', 8, ['one  two']],
    ['one   two', 4, ['one', 'two']],
  ],
  'breaks where Unicode lets a line end: after hyphens and zero width spaces, between ideographs': [
    ['well-known', 6, ['well-', 'known']],
    ['left\u200bright', 6, ['left', 'right']],
    ['日本語です。', 3, ['日本語', 'です。']],
    ['a\u00a0b c', 3, ['a\u00a0b', 'c']],
    ['(one) two', 6, ['(one)', 'two']],
  ],
  'shows the hyphen of a soft hyphen where a line ends in one': [
    ['hyphen\u00adation', 8, ['hyphen\u00ad-', 'ation']],
    ['hyphen\u00adation', 6, ['hyphen', '\u00adation']],
  ],
  'breaks a word that is too long between graphemes': [
    ['a abcdefgh b', 3, ['a', 'abc', 'def', 'gh', 'b']],
    ['e\u0301e\u0301e\u0301', 2, ['e\u0301e\u0301', 'e\u0301']],
    ['abc', 0.5, ['a', 'b', 'c']],
  ],
  'begins a line at a line break, and leaves an empty one empty': [['a\n\nb c', 10, ['a', '', 'b c']]],
  'ends the last of too many lines in an ellipsis': [
    ['one two three four', 8, ['one two', 'three f…'], 2],
    ['one two three four', 7, ['one two', 'three…'], 2],
    ['a\nb\nc', 8, ['a', 'b…'], 2],
    ['one two', 8, ['one two'], 1],
    ['abc', 0.5, ['…'], 1],
  ],
  'lets the parts of a word keep their shape': [
    ['ببببب', 3, [`\u202d\u202eببب${parted.end}`, `\u202d\u202e${parted.start}بب`]],
    ['دددد', 2, ['\u202d\u202eدد', '\u202d\u202eدد']],
  ],
};

describe('breakLines', () => {
  for (const [what, each] of Object.entries(rows)) {
    it(what, () => {
      for (const [text, maxWidth, lines, maxLines] of each) {
        expect(linesOf(text, maxWidth, maxLines), `${text} ${maxWidth}`).to.deep.equal(lines);
      }
    });
  }

  it('keeps all ink, in lines that fit, whatever the text', () => {
    const joined = ['e\u0301', '👩‍👧', '\u{1f1e9}\u{1f1ea}'];
    const unit = fc.constantFrom(...'aé -.,/(「語한"%בא\u00ad\u200b\u00a0', 'ب', ...joined);
    const inked = (text: string) => text.replace(/[\s-]|\p{Cf}/gu, '');
    const texts = fc.string({ unit, minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 12 }), (text, maxWidth) => {
        const lines = breakLines([breakable(paragraphOf(text), widths)], maxWidth, 1000, widths);
        expect(inked(lines.map((line) => line.text).join(''))).to.equal(inked(text));
        for (const line of lines) expect(line.width, JSON.stringify(line.text)).to.be.at.most(maxWidth);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('joinsAt', () => {
  it('says where Arabic letters join', () => {
    const joins = (text: string) => joinsAt(text.replace('|', ''), text.indexOf('|'));
    expect(['ب|ب', 'بَ|ب'].filter(joins)).to.have.length(2);
    expect(['د|ب', 'ب|ء', 'ب| ب', 'b|a', '|ب', 'ب|'].filter(joins)).to.deep.equal([]);
  });
});
