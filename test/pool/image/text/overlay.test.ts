import { expect } from 'chai';
import type { Overlay, Raster } from '../../../../pool/image/raster.js';
import { createFontSet } from '../../../../pool/image/text/fonts.js';
import {
  createTextRenderer,
  layOut,
  prepareText,
  type TextRenderer,
  type TextStyle,
} from '../../../../pool/image/text/overlay.js';
import { pixelAt } from '../pictures.js';

const plain: TextStyle = { fontSize: 40, color: '#000000', maxWidth: 2000, maxHeight: 600 };
const sentence = 'The quick brown fox jumps over the lazy dog and runs away';

let renderer: TextRenderer;
before(async () => {
  renderer = await createTextRenderer(await createFontSet());
});

function draw(text: string, style: Partial<TextStyle> = {}, by = renderer): Overlay {
  const overlay = by.render(text, { ...plain, ...style });
  if (!overlay) throw new Error('nothing drawn');
  return overlay;
}

/** Opacity of a pixel; a negative place counts from the right or from below. */
function alphaAt(overlay: Overlay, x: number, y: number): number {
  const raster: Raster = { ...overlay, channels: 4, frames: 1 };
  return pixelAt(raster, x < 0 ? overlay.width + x : x, y < 0 ? overlay.height + y : y)[3] as number;
}

/** The same of each pixel of a column. */
const columnOf = (overlay: Overlay, x: number) =>
  Array.from({ length: overlay.height }, (_, y) => alphaAt(overlay, x, y));
const inkIn = (alphas: number[]) => alphas.filter((alpha) => alpha > 0).length;

describe('createTextRenderer', () => {
  it('draws markup as text, and every space', () => {
    expect(draw('A & B <c>').width).to.be.greaterThan(draw('A B').width);
    expect(draw('&amp;').width).to.be.greaterThan(draw('&').width);
    expect(draw('"\'').width).to.be.greaterThan(draw('"').width);
    expect(draw('a   b').width).to.be.greaterThan(draw('a b').width + 20);
  });

  it('is tight: ink touches every side', () => {
    const overlay = draw('Hxg');
    for (const x of [0, -1]) expect(inkIn(columnOf(overlay, x))).to.be.above(0);
    for (const y of [0, -1]) {
      const row = Array.from({ length: overlay.width }, (_, x) => alphaAt(overlay, x, y));
      expect(inkIn(row)).to.be.above(0);
    }
  });

  it('joins Arabic letters and runs Hebrew lines from right to left', () => {
    expect(draw('ببب').width).to.be.lessThan(draw('ب\u200cب\u200cب').width);
    // The "!" ends the line on the left.
    const hebrew = draw('שלום!');
    expect(inkIn(columnOf(hebrew, 1))).to.be.greaterThan(hebrew.height / 2);
  });

  it('composes an accent with its letter', () => {
    expect(draw('e\u0301')).to.deep.equal(draw('é'));
  });

  it('returns what it drew before, and only for the same text, size and colour', () => {
    expect(draw('again')).to.equal(draw('again'));
    expect(draw('again', { color: '#ff0000' })).to.not.equal(draw('again'));
    expect(draw('again', { fontSize: 20 }).width).to.be.lessThan(draw('again').width);
  });
});

describe('text of several lines', () => {
  const style = { maxWidth: 600, wrap: { maxLines: 50 } };

  it('is the same as one line where it fits one', () => {
    expect(draw('short', style)).to.deep.equal(draw('short'));
    expect(draw('שלום!', { ...style, align: 'right' })).to.deep.equal(draw('שלום!'));
  });

  it('keeps its size, with the lines that a person would break it into', () => {
    const broken = 'The quick brown fox jumps\nover the lazy dog and runs\naway';
    expect(draw(sentence, style)).to.deep.equal(draw(broken, { maxWidth: 600 }));
  });

  it('goes by the letters as they are joined, in whatever script', () => {
    const arabic = draw('مرحبا بالعالم، هذا نص طويل جدا لا يتسع له سطر واحد من هذه الصورة', style);
    expect(arabic.width).to.be.within(500, 600);
    expect(arabic.height).to.be.within(80, 110);
  });

  it('shrinks only where its lines are too many for the box', () => {
    const low = draw(sentence, { ...style, maxHeight: 60 });
    expect(low.width).to.be.within(300, 600);
    expect(low.height).to.be.within(45, 60);
    expect(draw(sentence, { maxWidth: 600 }).height).to.be.lessThan(low.height / 1.5);
  });

  it('is flush with the side asked for', () => {
    const gap = draw('HHHHHHHHHH').width - draw('H').width;
    for (const [i, align] of (['left', 'center', 'right'] as const).entries()) {
      const overlay = draw('HHHHHHHHHH\nH', { align });
      const columns = Array.from({ length: overlay.width }, (_, x) => columnOf(overlay, x));
      const lower = columns.map((column) => inkIn(column.slice(-20)) > 0);
      expect(lower.indexOf(true), align).to.be.closeTo((gap * i) / 2, 1);
      expect(overlay.width - 1 - lower.lastIndexOf(true), align).to.be.closeTo(gap - (gap * i) / 2, 1);
    }
  });

  it('shows the numbers of a second line by the words of the first', () => {
    const wrapped = draw('abcdefgh אבגדה 12 - 34', { ...style, maxWidth: 320 });
    expect(wrapped).to.deep.equal(draw('abcdefgh אבגדה\n34 - 12'));
  });

  it('keeps the shape of letters where a word is parted', () => {
    const parts = draw('سسسسسسسسس', { ...style, maxWidth: 200 });
    // Joined to what follows, the line ends in a stroke on the left and not in the bowl of a last letter.
    expect(inkIn(columnOf(parts, 0).slice(0, 40))).to.be.within(1, 8);
  });

  it('ends in an ellipsis where lines are too few, in three dots where no font has one', async () => {
    const one = { maxWidth: 600, wrap: { maxLines: 1 } };
    expect(draw(sentence, one)).to.deep.equal(draw('The quick brown fox jumps…'));
    const fonts = await createFontSet();
    const without = await createTextRenderer({ ...fonts, missing: (text) => (text === '…' ? ['…'] : []) });
    expect(draw(sentence, one, without)).to.deep.equal(draw('The quick brown fox jumps...'));
  });

  it('has its outline in the box, under every letter', () => {
    const bare = draw('Ag', { fontSize: 60 });
    const outlined = draw('Ag', { fontSize: 60, outline: 5 });
    expect([outlined.width - bare.width, outlined.height - bare.height]).to.deep.equal([10, 10]);
    const raster: Raster = { ...outlined, channels: 4, frames: 1 };
    for (let y = 0; y < bare.height; y++) {
      for (let x = 0; x < bare.width; x++) {
        if (alphaAt(bare, x, y) !== 255) continue;
        expect(pixelAt(raster, x + 5, y + 5), `${x}, ${y}`).to.deep.equal([0, 0, 0, 255]);
      }
    }
    const tight = draw('Ag', { fontSize: 60, outline: 50, maxWidth: 70, maxHeight: 70 });
    expect(Math.max(tight.width, tight.height)).to.be.at.most(70);
  });
});

describe('layOut', () => {
  it('measures a text at most three times, however it must be broken and shrunk', async () => {
    const widths = { of: (await createFontSet()).advance, ellipsis: '…' };
    const long = ['W'.repeat(500), 'مرحبا '.repeat(80), 'بسم'.repeat(150), 'iiiii '.repeat(80)];
    for (const text of [sentence.repeat(8), 'fi\nfl', ...long]) {
      for (const area of ['600x600', '30x600', '600x20', '3000x90']) {
        const [maxWidth, maxHeight] = area.split('x').map(Number) as [number, number];
        let measured = 0;
        // A font that is narrower than its letters alone, as joined ones are.
        const measure = (lines: readonly string[]) => {
          measured++;
          const widest = Math.max(...lines.map((line) => line.length));
          return { x: 0, y: 0, width: widest * 31, height: 80 + (lines.length - 1) * 120 };
        };
        const style = { ...plain, maxWidth, maxHeight, wrap: { maxLines: 50 } };
        const layout = layOut(prepareText(text), style, { widths, measure });
        expect(measured).to.be.within(1, 3);
        if (!layout) throw new Error('no layout');
        expect(layout.box.width * layout.scale).to.be.at.most(maxWidth + 1e-6);
        expect(layout.box.height * layout.scale).to.be.at.most(maxHeight + 1e-6);
      }
    }
  });
});
