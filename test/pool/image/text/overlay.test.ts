import { createRequire } from 'node:module';
import { expect } from 'chai';
import { createFontSet, readFontSet } from '../../../../pool/image/text/fonts.js';
import { createTextRenderer, type Overlay, type TextRenderer } from '../../../../pool/image/text/overlay.js';

const dejavu = (name: string) => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`);
const style = { fontSize: 40, color: '#000000', maxWidth: 2000, maxHeight: 500 };

describe('createTextRenderer', () => {
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
