import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';
import { expect } from 'chai';
import fc from 'fast-check';
import { lineOf, paragraphOf } from '../../../../pool/image/text/bidi.js';

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
