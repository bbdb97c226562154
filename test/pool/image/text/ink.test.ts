import { expect } from 'chai';
import fc from 'fast-check';
import { blendOverlay, type Overlay, type Raster } from '../../../../pool/image/raster.js';
import { createFontSet } from '../../../../pool/image/text/fonts.js';
import { chooseInk, contrastOf, inkFor, invertInk, standsOutFrom } from '../../../../pool/image/text/ink.js';
import { createTextRenderer } from '../../../../pool/image/text/overlay.js';
import { distance, film, meanLuminance, paint, pixelsOf, plain, sizeOf, white } from '../pictures.js';

const black = [0, 0, 0];

/** A solid black rectangle as an overlay. */
const block = (width: number, height: number): Overlay => plain(width, height, [...black, 255]);

/** Contrast of a block of auto ink at opacity 0.5 with what it covers whole, by the pixels before and after. */
function contrastOn(picture: Raster): number {
  const place = { left: 0, top: 0 };
  const after = { ...picture, data: Uint8Array.from(picture.data) };
  const ink = inkFor(picture, block(picture.width, picture.height), [place], 0.5);
  blendOverlay(after, ink, place, { opacity: 0.5, premultiplied: true });
  return contrastOf(meanLuminance(pixelsOf(picture)), meanLuminance(pixelsOf(after)));
}

/** The ink of a block of this size in these places. */
function inkIn(picture: Raster, side: number, ...corners: [left: number, top: number][]) {
  const places = corners.map(([left, top]) => ({ left, top }));
  return chooseInk(picture, block(side, side), places, 0.5);
}

describe('auto ink', () => {
  it('has a contrast of 2:1 on each grey, opaque or not', () => {
    for (let grey = 0; grey < 256; grey++) {
      for (const alpha of [[], [0], [1], [77], [128], [254], [255]]) {
        const picture = plain(2, 2, [grey, grey, grey, ...alpha]);
        expect(contrastOn(picture), `grey ${grey}, alpha ${alpha}`).to.be.at.least(2.1);
      }
    }
  });

  it('has it on any mixture of pixels', () => {
    const any = fc.array(fc.nat(255), { minLength: 3, maxLength: 3 });
    const pixel = fc.oneof(fc.constantFrom(black, white, [118, 118, 118], [188, 188, 188]), any);
    fc.assert(
      fc.property(fc.array(pixel, { minLength: 64, maxLength: 64 }), (pixels) => {
        expect(contrastOn(paint(8, 8, (x, y) => pixels[y * 8 + x] as number[]))).to.be.at.least(2.1);
      }),
      { numRuns: 300 },
    );
  });

  it('is black where a tenth and more of a black picture is white, which white ink would not show on', () => {
    for (const every of [4, 6, 8]) {
      const spots = paint(24, 24, (x, y) => ((y * 24 + x) % every === 0 ? white : black));
      expect(contrastOn(spots)).to.be.at.least(2.1);
      expect(inkIn(spots, 24, [0, 0])).to.equal('black');
    }
  });

  const halves = paint(40, 20, (x) => (x < 20 ? black : white));

  it('goes by the pixels under the coverage, and no others', () => {
    expect(inkIn(halves, 20, [0, 0])).to.equal('white');
    expect(inkIn(halves, 20, [20, 0])).to.equal('black');
    const rightOnly = paint(40, 20, (x) => [...black, x < 20 ? 0 : 255]);
    expect(chooseInk(halves, rightOnly, [{ left: 0, top: 0 }], 0.5)).to.equal('black');
  });

  it('goes by all places together, those that reach outside by what is inside', () => {
    expect(inkIn(halves, 20, [0, 0], [0, 0], [0, 0], [0, 0], [39, 19])).to.equal('white');
    expect(inkIn(halves, 20, [25, -10])).to.equal('black');
    expect(inkIn(halves, 20, [-10, 15])).to.equal('white');
    expect(inkIn(halves, 20, [-50, 90])).to.equal('black');
  });

  it('is one for all frames', () => {
    const [dark, light] = [plain(8, 8, black), plain(8, 8, white)];
    expect(inkIn(film([dark, light, light]), 8, [0, 0])).to.equal('black');
    expect(inkIn(film([light, ...Array<Raster>(15).fill(dark)]), 8, [0, 0])).to.equal('white');
  });

  it('looks at a bounded number of pixels, however many there are', () => {
    const overlay = block(10, 10);
    let reads = 0;
    const data = new Proxy(overlay.data, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
        return Reflect.get(target, name);
      },
    });
    const places = Array.from({ length: 20_000 }, () => ({ left: 0, top: 0 }));
    expect(chooseInk(plain(10, 10, black), { ...overlay, data }, places, 0.5)).to.equal('white');
    expect(reads).to.be.within(10_000, 400_000);
  });
});

describe('invertInk', () => {
  it('gives what is drawn in white, outline and all, and keeps it', async () => {
    const renderer = await createTextRenderer(await createFontSet());
    const style = { fontSize: 40, outline: 3, maxWidth: 500, maxHeight: 100 };
    const [dark, light] = ['#000000', '#ffffff'].map((color) => renderer.render('Ink', { ...style, color }));
    const inverted = invertInk(dark as Overlay);
    expect(sizeOf(inverted)).to.deep.equal(sizeOf(light as Overlay));
    expect(distance([...inverted.data], [...(light as Overlay).data])).to.be.at.most(3);
    expect(invertInk(dark as Overlay)).to.equal(inverted);
  });
});

describe('standsOutFrom', () => {
  it('is black on light colours and white on dark ones', () => {
    const inks = (colors: string[]) => new Set(colors.map(standsOutFrom));
    expect(inks(['#ffffff', '#ffff00', '#777777', '#00ff00'])).to.deep.equal(new Set(['black']));
    expect(inks(['#000000', '#0000ff', '#747474', '#800000'])).to.deep.equal(new Set(['white']));
  });
});
