import { expect } from 'chai';
import fc from 'fast-check';
import type { Overlay, Raster } from '../../../../pool/image/raster.js';
import { blendOverlay } from '../../../../pool/image/raster.js';
import { contrastOf, luminanceOf, standsOutFrom } from '../../../../pool/image/text/contrast.js';
import { createFontSet } from '../../../../pool/image/text/fonts.js';
import { chooseInk, inkFor, invertInk } from '../../../../pool/image/text/ink.js';
import { createTextRenderer } from '../../../../pool/image/text/overlay.js';
import { paint } from '../pictures.js';

/** A solid black rectangle as an overlay. */
function block(width: number, height: number): Overlay {
  const data = Uint8Array.from({ length: width * height * 4 }, (_, i) => (i % 4 === 3 ? 255 : 0));
  return { data, width, height };
}

function meanLuminance({ data, channels }: Raster): number {
  let sum = 0;
  for (let i = 0; i < data.length; i += channels) {
    const alpha = channels === 4 ? (data[i + 3] as number) / 255 : 1;
    const onWhite = [0, 1, 2].map((c) => Math.round((data[i + c] as number) * alpha + 255 * (1 - alpha)));
    sum += luminanceOf(`#${Buffer.from(onWhite).toString('hex')}`);
  }
  return sum / (data.length / channels);
}

/** Contrast of a block of auto ink at opacity 0.5 with what it covers whole, by the pixels before and after. */
function contrastOn(picture: Raster): number {
  const overlay = block(picture.width, picture.height);
  const place = { left: 0, top: 0 };
  const after = { ...picture, data: Uint8Array.from(picture.data) };
  blendOverlay(
    after,
    inkFor(picture, overlay, [place], 0.5),
    { left: 0, top: 0 },
    { opacity: 0.5, premultiplied: true },
  );
  return contrastOf(meanLuminance(picture), meanLuminance(after));
}

describe('auto ink', () => {
  it('has a contrast of 2:1 on each grey, opaque or not', () => {
    for (let grey = 0; grey < 256; grey++) {
      expect(contrastOn(paint(2, 2, () => [grey, grey, grey])), `grey ${grey}`).to.be.at.least(2.1);
      for (const alpha of [0, 1, 77, 128, 254, 255]) {
        const clear = paint(2, 2, () => [grey, grey, grey, alpha]);
        expect(contrastOn(clear), `grey ${grey}, alpha ${alpha}`).to.be.at.least(2.1);
      }
    }
  });

  it('has it on any mixture of pixels', () => {
    const pixel = fc.oneof(
      fc.constantFrom([0, 0, 0], [255, 255, 255], [118, 118, 118], [188, 188, 188]),
      fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 3, maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(pixel, { minLength: 64, maxLength: 64 }), (pixels) => {
        const picture = paint(8, 8, (x, y) => pixels[y * 8 + x] as number[]);
        expect(contrastOn(picture)).to.be.at.least(2.1);
      }),
      { numRuns: 300 },
    );
  });

  it('is black where a tenth and more of a black picture is white, which white ink would not show on', () => {
    for (const every of [4, 6, 8]) {
      const spots = paint(24, 24, (x, y) => ((y * 24 + x) % every === 0 ? [255, 255, 255] : [0, 0, 0]));
      expect(contrastOn(spots)).to.be.at.least(2.1);
      expect(chooseInk(spots, block(24, 24), [{ left: 0, top: 0 }], 0.5)).to.equal('black');
    }
  });

  const halves = paint(40, 20, (x) => (x < 20 ? [0, 0, 0] : [255, 255, 255]));

  it('goes by the pixels under the coverage, and no others', () => {
    const overlay = block(20, 20);
    expect(chooseInk(halves, overlay, [{ left: 0, top: 0 }], 0.5)).to.equal('white');
    expect(chooseInk(halves, overlay, [{ left: 20, top: 0 }], 0.5)).to.equal('black');
    const rightOnly = block(40, 20);
    rightOnly.data.forEach((_, i) => {
      if (i % 4 === 3 && (i >> 2) % 40 < 20) rightOnly.data[i] = 0;
    });
    expect(chooseInk(halves, rightOnly, [{ left: 0, top: 0 }], 0.5)).to.equal('black');
  });

  it('goes by all places together, those that reach outside by what is inside', () => {
    const overlay = block(20, 20);
    const dark = { left: 0, top: 0 };
    expect(chooseInk(halves, overlay, [dark, dark, dark, dark, { left: 39, top: 19 }], 0.5)).to.equal(
      'white',
    );
    expect(chooseInk(halves, overlay, [{ left: 25, top: -10 }], 0.5)).to.equal('black');
    expect(chooseInk(halves, overlay, [{ left: -10, top: 15 }], 0.5)).to.equal('white');
    expect(chooseInk(halves, overlay, [{ left: -50, top: 90 }], 0.5)).to.equal('black');
  });

  it('is one for all frames', () => {
    const frame = (value: number) => paint(8, 8, () => [value, value, value]).data;
    const of = (values: number[]): Raster => ({
      data: Buffer.concat(values.map(frame)),
      width: 8,
      height: 8,
      channels: 3,
      frames: values.length,
    });
    const place = [{ left: 0, top: 0 }];
    expect(chooseInk(of([0, 255, 255]), block(8, 8), place, 0.5)).to.equal('black');
    expect(chooseInk(of([255, ...Array.from({ length: 15 }, () => 0)]), block(8, 8), place, 0.5)).to.equal(
      'white',
    );
  });

  it('is the same for a picture with an alpha channel that is full', () => {
    const noise = (x: number, y: number) => [(x * 37 + y * 91) % 256, (x * 11 + y * 5) % 256, (x * y) % 256];
    for (const shift of [0, 40, 80, 120]) {
      const color = (x: number, y: number) => noise(x, y).map((value) => Math.max(0, value - shift));
      const three = paint(30, 30, color);
      const four = paint(30, 30, (x, y) => [...color(x, y), 255]);
      const place = [{ left: 5, top: 5 }];
      expect(chooseInk(three, block(20, 20), place, 0.5)).to.equal(
        chooseInk(four, block(20, 20), place, 0.5),
      );
    }
  });

  it('looks at a bounded number of pixels, however many there are', () => {
    const picture = paint(10, 10, () => [0, 0, 0]);
    const overlay = block(10, 10);
    let reads = 0;
    const data = new Proxy(overlay.data, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
        return Reflect.get(target, name);
      },
    });
    const places = Array.from({ length: 20_000 }, () => ({ left: 0, top: 0 }));
    expect(chooseInk(picture, { ...overlay, data }, places, 0.5)).to.equal('white');
    expect(reads).to.be.within(10_000, 400_000);
  });
});

describe('invertInk', () => {
  it('gives what is drawn in white, outline and all, and keeps it', async () => {
    const renderer = await createTextRenderer(await createFontSet());
    const style = { fontSize: 40, outline: 3, maxWidth: 500, maxHeight: 100 };
    const black = renderer.render('Ink & outline', { ...style, color: '#000000' }) as Overlay;
    const white = renderer.render('Ink & outline', { ...style, color: '#ffffff' }) as Overlay;
    const inverted = invertInk(black);
    expect([inverted.width, inverted.height]).to.deep.equal([white.width, white.height]);
    expect(
      Math.max(...inverted.data.map((value, i) => Math.abs(value - (white.data[i] as number)))),
    ).to.be.at.most(3);
    expect(invertInk(black)).to.equal(inverted);
  });
});

describe('standsOutFrom', () => {
  it('is black on light colours and white on dark ones', () => {
    for (const light of ['#ffffff', '#ffff00', '#777777', '#00ff00'])
      expect(standsOutFrom(light)).to.equal('black');
    for (const dark of ['#000000', '#0000ff', '#747474', '#800000'])
      expect(standsOutFrom(dark)).to.equal('white');
  });
});
