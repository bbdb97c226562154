import { createRequire } from 'node:module';
import { expect } from 'chai';
import type { Overlay } from '../../../../pool/image/raster.js';
import { createFontSet, readFontSet } from '../../../../pool/image/text/fonts.js';
import { layOut, prepareText, type TextStyle } from '../../../../pool/image/text/layout.js';
import { createTextRenderer, type TextRenderer } from '../../../../pool/image/text/overlay.js';

const dejavu = (name: string) => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`);

describe('createTextRenderer', () => {
  const style = { fontSize: 40, color: '#000000', maxWidth: 2000, maxHeight: 500 };

  let renderer: TextRenderer;
  before(async () => {
    renderer = await createTextRenderer(await createFontSet());
  });

  function draw(text: string): Overlay {
    const overlay = renderer.render(text, style);
    if (!overlay) throw new Error('nothing drawn');
    return overlay;
  }

  it('draws markup as text', () => {
    expect(draw('A & B <c>').width).to.be.greaterThan(draw('A B').width);
    expect(draw('&amp;').width).to.be.greaterThan(draw('&').width);
    expect(draw('"\'').width).to.be.greaterThan(draw('"').width);
  });

  it('keeps every space', () => {
    expect(draw('a   b').width).to.be.greaterThan(draw('a b').width + 20);
  });

  it('is tight: ink touches every side', () => {
    const { data, width, height } = draw('Hxg');
    const inkAt = (test: (x: number, y: number) => boolean) =>
      Array.from({ length: width * height }, (_, i) => i).some(
        (i) => test(i % width, Math.floor(i / width)) && (data[i * 4 + 3] as number) > 0,
      );
    expect(inkAt((x) => x === 0) && inkAt((x) => x === width - 1)).to.equal(true);
    expect(inkAt((_, y) => y === 0) && inkAt((_, y) => y === height - 1)).to.equal(true);
  });

  it('joins Arabic letters and turns right-to-left lines around', () => {
    const joined = draw('ببب');
    const apart = draw('ب\u200cب\u200cب');
    expect(joined.width).to.be.lessThan(apart.width);
    // The "!" ends the line on the left.
    const { data, width, height } = draw('שלום!');
    const firstColumns = Array.from({ length: height }, (_, y) => data[(y * width + 1) * 4 + 3] as number);
    expect(firstColumns.filter((alpha) => alpha > 0).length).to.be.greaterThan(height / 2);
  });

  it('composes an accent with its letter', () => {
    expect(draw('e\u0301')).to.deep.equal(draw('é'));
  });

  it('returns what it drew before, and only for the same text, size and colour', () => {
    expect(draw('again')).to.equal(draw('again'));
    expect(renderer.render('again', { ...style, color: '#ff0000' })).to.not.equal(draw('again'));
    expect(renderer.render('again', { ...style, fontSize: 20 })?.width).to.be.lessThan(draw('again').width);
  });

  it('takes each character from the font that has it', async () => {
    const mixed = await createTextRenderer(
      await readFontSet([dejavu('DejaVuSans-ExtraLight'), dejavu('DejaVuSans')]),
    );
    const arabic = mixed.render('مرحبا', style);
    expect(arabic).to.deep.equal(draw('مرحبا'));
    const both = mixed.render('a مرحبا', style);
    expect(both?.width).to.be.greaterThan((arabic?.width ?? 0) + 20);
  });
});

const plain: TextStyle = { fontSize: 40, color: '#000000', maxWidth: 600, maxHeight: 600 };
const sentence = 'The quick brown fox jumps over the lazy dog and runs away';

describe('text of several lines', () => {
  let renderer: TextRenderer;
  before(async () => {
    renderer = await createTextRenderer(await createFontSet());
  });

  function draw(text: string, style: Partial<TextStyle> = {}): Overlay {
    const overlay = renderer.render(text, { ...plain, ...style });
    if (!overlay) throw new Error('nothing drawn');
    return overlay;
  }
  const wrap = { maxLines: 50 };

  it('is the same as one line where it fits one', () => {
    expect(draw('short', { wrap })).to.deep.equal(draw('short'));
    expect(draw('שלום!', { wrap, align: 'right' })).to.deep.equal(draw('שלום!'));
  });

  it('keeps its size, with the lines that a person would break it into', () => {
    const broken = 'The quick brown fox jumps\nover the lazy dog and runs\naway';
    expect(draw(sentence, { wrap })).to.deep.equal(draw(broken));
  });

  it('goes by the letters as they are joined, in whatever script', () => {
    const arabic = draw('مرحبا بالعالم، هذا نص طويل جدا لا يتسع له سطر واحد من هذه الصورة', { wrap });
    expect(arabic.width).to.be.within(500, 600);
    expect(arabic.height).to.be.within(80, 110);
  });

  it('shrinks only where its lines are too many for the room', () => {
    const low = draw(sentence, { wrap, maxHeight: 60 });
    expect(low.width).to.be.within(300, 600);
    expect(low.height).to.be.within(45, 60);
    expect(draw(sentence).height).to.be.lessThan(low.height / 1.5);
  });

  it('is flush with the side asked for', () => {
    const firstInk = ({ data, width, height }: Overlay, fromRight: boolean) =>
      Array.from({ length: height }, (_, y) => {
        const across = Array.from({ length: width }, (__, x) => (fromRight ? width - 1 - x : x));
        return across.findIndex((x) => (data[(y * width + x) * 4 + 3] as number) > 0);
      });
    const second = (overlay: Overlay, fromRight: boolean) =>
      Math.min(
        ...firstInk(overlay, fromRight)
          .slice(-30)
          .filter((x) => x >= 0),
      );
    const text = 'HHHHHHHHHH\nH';
    const gap = draw('HHHHHHHHHH').width - draw('H').width;
    expect(second(draw(text, { align: 'left' }), false)).to.be.within(0, 1);
    expect(second(draw(text, { align: 'right' }), true)).to.be.within(0, 1);
    expect(second(draw(text, { align: 'center' }), true)).to.be.within(gap / 2 - 1, gap / 2 + 1);
  });

  it('shows the numbers of a second line by the words of the first', () => {
    const wrapped = draw('abcdefgh אבגדה 12 - 34', { wrap, maxWidth: 320 });
    expect(wrapped).to.deep.equal(draw('abcdefgh אבגדה\n34 - 12'));
  });

  it('keeps the shape of letters where a word is parted', () => {
    const parts = draw('سسسسسسسس', { wrap, maxWidth: 200 });
    const columns = Array.from(
      { length: parts.height },
      (_, y) => parts.data[y * parts.width * 4 + 3] as number,
    );
    // Joined to what follows, the line ends in a stroke on the left and not in the bowl of a last letter.
    expect(columns.slice(0, 40).filter((alpha) => alpha > 0).length).to.be.within(1, 8);
  });

  it('ends in an ellipsis where lines are too few, in three dots where no font has one', async () => {
    const cut = draw(sentence, { wrap: { maxLines: 1 } });
    expect(cut).to.deep.equal(draw('The quick brown fox jumps…'));
    const fonts = await readFontSet([dejavu('DejaVuSans')]);
    const without = await createTextRenderer({ ...fonts, missing: (text) => (text === '…' ? ['…'] : []) });
    const dots = without.render(sentence, { ...plain, wrap: { maxLines: 1 } });
    expect(dots).to.deep.equal(draw('The quick brown fox jumps...'));
  });

  it('has its outline in the room, under every letter', () => {
    const bare = draw('Ag', { fontSize: 60 });
    const outlined = draw('Ag', { fontSize: 60, outline: 5 });
    expect([outlined.width - bare.width, outlined.height - bare.height]).to.deep.equal([10, 10]);
    for (let y = 0; y < bare.height; y++) {
      for (let x = 0; x < bare.width; x++) {
        if (bare.data[(y * bare.width + x) * 4 + 3] !== 255) continue;
        const at = ((y + 5) * outlined.width + x + 5) * 4;
        const pixel = [...outlined.data.subarray(at, at + 4)];
        expect(pixel, `${x}, ${y}`).to.deep.equal([0, 0, 0, 255]);
      }
    }
    const tight = draw('Ag', { fontSize: 60, outline: 50, maxWidth: 70, maxHeight: 70 });
    expect([tight.width <= 70, tight.height <= 70]).to.deep.equal([true, true]);
  });
});

describe('layOut', () => {
  it('measures a text at most three times, however it must be broken and shrunk', async () => {
    const fonts = await createFontSet();
    const texts = [
      sentence.repeat(8),
      'W'.repeat(500),
      'مرحبا '.repeat(80),
      'بسم'.repeat(150),
      'iiiii '.repeat(80),
      'fi\nfl',
    ];
    for (const text of texts) {
      const prepared = prepareText(text);
      for (const [maxWidth, maxHeight] of [
        [600, 600],
        [30, 600],
        [600, 20],
        [3000, 90],
      ] as const) {
        let measured = 0;
        // A font that is narrower than its letters alone, as joined ones are.
        const measure = (lines: readonly string[]) => {
          measured++;
          const widest = Math.max(...lines.map((line) => line.length));
          return { x: 0, y: 0, width: widest * 31, height: 80 + (lines.length - 1) * 120 };
        };
        const style = { ...plain, maxWidth, maxHeight, wrap: { maxLines: 50 } };
        const widths = { of: fonts.advance, ellipsis: '…' };
        const layout = layOut(prepared, style, { widths, measure });
        expect(measured).to.be.within(1, 3);
        if (!layout) throw new Error('no layout');
        expect(layout.box.width * layout.scale).to.be.at.most(maxWidth + 1e-6);
        expect(layout.box.height * layout.scale).to.be.at.most(maxHeight + 1e-6);
      }
    }
  });
});
