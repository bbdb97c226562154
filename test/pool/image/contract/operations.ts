import { expect } from 'chai';
import sharp from 'sharp';
import type {
  BorderOptions,
  LogoOptions,
  ResizeOptions,
  WatermarkOptions,
} from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { contrastOf } from '../../../../pool/image/text/ink.js';
import { decodeBySharp, type EngineBench, formats, psnr, rings } from '../engines.js';
import {
  animation,
  colorAt,
  distance,
  expectQuadrants,
  frameColors,
  meanLuminance,
  paint,
  pixelAt,
  pixelsOf,
  plain,
  purple,
  quadrantColors,
  quadrants,
  rejectionOf,
  sizeOf,
  sources,
  storeTurned,
  toSharp,
  white,
} from '../pictures.js';

const of = (width: number, more: Partial<BorderOptions> = {}) => ({ width, color: '#800080', ...more });

/** Around 48 × 32: the size then, places of the border, and of the picture's first and last pixel. */
const borders: [BorderOptions, size: string, border: string, picture: string][] = [
  [of(3), '54,38', '2,20 20,2 51,20 20,35 0,0 53,37', '3,3 50,34'],
  [of(0), '48,32', '', '0,0 47,31'],
  [of(1, { top: 2, right: '25%', left: 0 }), '56,35', '0,1 48,10 55,10 10,34', '0,2 47,33'],
  [of(3, { bottom: 5, inset: true }), '48,32', '2,15 45,15 20,2 20,27', '3,3 44,26'],
  [of(5000, { inset: true }), '48,32', '0,0 47,0 12,8 24,16 47,31', ''],
];

/** The pixels at places such as `2,20 20,2`. */
const pixelsAt = (raster: Raster, places: string) =>
  [...places.matchAll(/(\d+),(\d+)/g)].map(([, x, y]) => pixelAt(raster, Number(x), Number(y)));

export function operationTests(bench: EngineBench): void {
  describe('border', () => {
    for (const [options, size, border, picture] of borders) {
      it(`lies where ${JSON.stringify(options)} asks for it`, async () => {
        const raster = await bench.run(quadrants(), (image) => image.border(options));
        expect(`${sizeOf(raster)}`).to.equal(size);
        for (const pixel of pixelsAt(raster, border)) expect(pixel).to.deep.equal([...purple, 255]);
        const corners = [quadrantColors.topLeft, quadrantColors.bottomRight];
        const shown = picture ? corners.map((color) => [...color, 255]) : [];
        expect(pixelsAt(raster, picture)).to.deep.equal(shown);
      });
    }

    it('has its colour and its round corners in each format, white outside in a jpg', async () => {
      for (const format of formats) {
        const raster = await bench.run(quadrants(), (image) => image.border(of(24, { radius: 10 })), format);
        for (const pixel of pixelsAt(raster, '48,4 4,40 48,75 91,40')) {
          expect(distance(pixel, purple), format).to.be.at.most(12);
        }
        expectNothing(colorAt(raster, 0, 0.99), format);
      }
    });

    it('rounds a picture alone, too, as far as it is round', async () => {
      const raster = await bench.run(quadrants(), (image) => image.border(of(0, { radius: 5000 })));
      expect(sizeOf(raster)).to.deep.equal([48, 32]);
      expect(pixelAt(raster, 0, 31)[3]).to.equal(0);
      expect(pixelAt(raster, 12, 8)).to.deep.equal([...quadrantColors.topLeft, 255]);
    });

    it('goes around another border, in the order in which they were asked for, and leaves the image as it was', async () => {
      const image = await bench.open(quadrants());
      const twice = image.border({ width: 2, color: '#ff0000' }).border({ width: 4, color: '#00ff00' });
      const raster = await bench.decode((await twice.encode('png')).body);
      expect(sizeOf(raster)).to.deep.equal([60, 44]);
      expect(pixelsAt(raster, '0,0 5,5')).to.deep.equal([
        [0, 255, 0, 255],
        [255, 0, 0, 255],
      ]);
      expect(sizeOf(await bench.decode((await image.encode('png')).body))).to.deep.equal([48, 32]);
    });
  });

  const checkered = paint(23, 17, (x, y) => [x * 11, y * 15, (x * y) & 255, 40 + x * 9]);

  describe('crop', () => {
    it('gives just these pixels', async () => {
      const raster = await bench.run(checkered, (i) => i.crop({ left: 3, top: 5, width: 7, height: 11 }));
      expect(sizeOf(raster)).to.deep.equal([7, 11]);
      expect(pixelsAt(raster, '0,0 6,10')).to.deep.equal(pixelsAt(checkered, '3,5 9,15'));
    });

    it('is of the picture as it is after its orientation and the operations before', async () => {
      const turned = await toSharp(paint(40, 20, (x) => (x < 20 ? [200, 0, 0] : [0, 0, 200])))
        .withMetadata({ orientation: 6 })
        .png()
        .toBuffer();
      const lower = await bench.run(turned, (i) => i.crop({ left: 0, top: 20, width: 20, height: 20 }));
      expect(colorAt(lower, 0.5, 0.1)).to.deep.equal([0, 0, 200, 255]);
      const corner = { left: 0, top: 0, width: 6, height: 6 };
      const framed = await bench.run(turned, (i) => i.border({ width: 5, color: '#00ff00' }).crop(corner));
      expect(pixelsAt(framed, '0,0 5,5')).to.deep.equal([
        [0, 255, 0, 255],
        [200, 0, 0, 255],
      ]);
    });
  });

  describe('rotate', () => {
    it('by multiples of 90 moves pixels and changes none', async () => {
      const first = { 90: '0,16', 180: '22,16', '-90': '22,0', 270: '22,0', 450: '0,16', '-720': '0,0' };
      for (const [degrees, place] of Object.entries(first)) {
        const raster = await bench.run(checkered, (image) => image.rotate(Number(degrees)));
        expect(sizeOf(raster), degrees).to.deep.equal(Number(degrees) % 180 ? [17, 23] : [23, 17]);
        expect(pixelsAt(raster, '0,0'), degrees).to.deep.equal(pixelsAt(checkered, place));
      }
    });

    it('by any angle is transparent around the picture, in a jpg white', async () => {
      for (const format of formats) {
        const raster = await bench.run(plain(50, 50, [200, 0, 0]), (image) => image.rotate(45), format);
        expect(sizeOf(raster)).to.deep.equal([71, 71]);
        expect(distance(colorAt(raster, 0.5, 0.5), [200, 0, 0, 255])).to.be.at.most(12);
        expectNothing(colorAt(raster, 0.02, 0.02), format);
      }
    });

    it('has its background at the corners alone, not where the picture is transparent', async () => {
      const ring = paint(50, 50, (x, y) =>
        x > 15 && x < 34 && y > 15 && y < 34 ? [0, 0, 0, 0] : [200, 0, 0, 255],
      );
      for (const picture of [ring, plain(50, 50, [200, 0, 0])]) {
        const raster = await bench.run(picture, (image) => image.rotate(45, { background: '#0000c8' }));
        expect(pixelsAt(raster, '1,1 35,69')).to.deep.equal([
          [0, 0, 200, 255],
          [200, 0, 0, 255],
        ]);
        expect(colorAt(raster, 0.5, 0.5)[3]).to.equal(picture === ring ? 0 : 255);
        // Where both meet, no third colour shows through.
        for (const [red = 0, green, blue = 0, alpha] of pixelsOf(raster)) {
          if (red > 0 && blue > 0)
            expect([green, alpha, Math.abs(red + blue - 200) < 2]).to.deep.equal([0, 255, true]);
        }
      }
    });
  });

  describe('composite', () => {
    const red = plain(30, 20, [200, 0, 0]);
    const veil = () => bench.open(plain(10, 10, [0, 0, 255, 128]));

    it('lays a picture over another where it is asked to, and cuts off what lies outside', async () => {
      const overlay = await veil();
      const raster = await bench.run(red, (image) => image.composite(overlay, { left: 25, top: -5 }));
      expect(sizeOf(raster)).to.deep.equal([30, 20]);
      const [inside, outside] = [pixelsAt(raster, '25,0 29,4'), pixelsAt(raster, '24,0 25,5')];
      for (const pixel of inside) expect(pixel).to.deep.equal([100, 0, 128, 255]);
      for (const pixel of outside) expect(pixel).to.deep.equal([200, 0, 0, 255]);
    });

    it('does the operations of the overlay first, and those that follow after', async () => {
      const overlay = (await veil()).resize({ width: 4 }).border({ width: 3, color: '#00ff00' });
      const border = { width: 1, color: '#ffffff' };
      const raster = await bench.run(red, (image) => image.composite(overlay).rotate(90).border(border));
      expect(sizeOf(raster)).to.deep.equal([22, 32]);
      expect(colorAt(raster, 0.9, 0.05)).to.deep.equal([0, 255, 0, 255]);
      expect(distance(colorAt(raster, 0.75, 0.18), [100, 0, 128, 255])).to.be.at.most(2);
    });

    it('keeps an overlay transparent in a jpg', async () => {
      const overlay = (await veil()).resize({ width: 30 });
      const raster = await bench.run(red, (image) => image.composite(overlay), 'jpg');
      expect(distance(colorAt(raster, 0.5, 0.5), [100, 0, 128])).to.be.at.most(14);
    });
  });

  describe('resize', () => resizeTests(bench));
}

/** That a colour is clear, in a jpg white. */
function expectNothing(color: number[], format: (typeof formats)[number]): void {
  if (format === 'jpg') expect(distance(color, white)).to.be.at.most(12);
  else expect(color[3], format).to.be.at.most(2);
}

const sizes: [ResizeOptions, number[]][] = [
  [{ width: 24 }, [24, 16]],
  [{ height: 64 }, [96, 64]],
  [{ width: 1 }, [1, 1]],
  [{ width: 31 }, [31, 21]],
  [{ width: 20, height: 20 }, [20, 20]],
  [{ width: 20, height: 20, fit: 'fill' }, [20, 20]],
  [{ width: 20, height: 20, fit: 'inside' }, [20, 13]],
  [{ width: 100, height: 40, fit: 'inside' }, [60, 40]],
  [{ width: 48, height: 32 }, [48, 32]],
  [{ width: 24, height: undefined, fit: 'cover' }, [24, 16]],
];

/** What libvips makes of the picture at this size when it is asked for nothing else, to compare with. */
async function resizedByVips(picture: Uint8Array, { width, height }: Raster): Promise<Raster> {
  // Decoded first: a JPEG would be shrunk in part by its decoder.
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const raw = sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } });
  return decodeBySharp(await raw.resize(width, height, { fit: 'fill' }).png().toBuffer());
}

/** Other sizes: how large, how filled, how good. */
function resizeTests(bench: EngineBench): void {
  for (const [options, size] of sizes) {
    it(`of 48 × 32 with ${JSON.stringify(options)} gives ${size.join(' × ')}`, async () => {
      expect(sizeOf(await bench.run(quadrants(), (image) => image.resize(options)))).to.deep.equal(size);
    });
  }

  it('keeps colours in their places', async () => {
    for (const [source, make] of Object.entries(sources)) {
      expectQuadrants(await bench.run(await make(), (image) => image.resize({ width: 24 })), 14, source);
    }
  });

  it('of a wide picture to a square loses its ends by cover alone', async () => {
    const striped = paint(60, 20, (x) => (x < 20 ? [255, 0, 0] : x < 40 ? [0, 255, 0] : [0, 0, 255]));
    for (const fit of ['cover', 'inside', 'fill'] as const) {
      const raster = await bench.run(striped, (image) => image.resize({ width: 30, height: 30, fit }));
      // Next to the edge, off the kernel's ringing.
      const end = fit === 'cover' ? [0, 255, 0, 255] : [255, 0, 0, 255];
      expect(distance(colorAt(raster, 0.08, 0.5), end), fit).to.be.at.most(12);
      if (fit === 'fill') expect(distance(colorAt(raster, 0.5, 0.5), [0, 255, 0, 255])).to.be.at.most(12);
    }
  });

  it('is near to Lanczos by libvips, at once and after a turn', async () => {
    const picture = await rings();
    for (const size of [{ width: 100 }, { width: 260 }, { width: 200, height: 61, fit: 'fill' }] as const) {
      for (const turn of [0, 180]) {
        const result = await bench.run(picture, (image) => image.rotate(turn).rotate(turn).resize(size));
        const expected = await resizedByVips(picture, result);
        expect(psnr(result, expected), `${size.width} ${turn}`).to.be.greaterThan(50);
      }
    }
  });

  it('of a jpeg that is decoded smaller is near to Lanczos of the whole', async () => {
    const picture = sharp(await rings());
    const jpeg = await picture.jpeg({ quality: 98, chromaSubsampling: '4:4:4' }).toBuffer();
    const result = await bench.run(jpeg, (image) => image.resize({ width: 60 }));
    expect(psnr(result, await resizedByVips(jpeg, result))).to.be.greaterThan(45);
  });

  it('lends transparent pixels no colour', async () => {
    const half = paint(64, 16, (x) => (x < 32 ? [255, 0, 0, 255] : [0, 255, 0, 0]));
    for (const width of [13, 150]) {
      for (const pixel of pixelsOf(await bench.run(half, (image) => image.resize({ width })))) {
        // Of what is nearly clear, 8 bits hold no colour.
        if ((pixel[3] as number) >= 16) expect(distance(pixel, [255, 0])).to.be.below(16);
      }
    }
  });

  it('of a transparent picture is laid on white only in a jpg', async () => {
    const half = paint(40, 40, (x) => [0, 0, 255, x < 20 ? 0 : 255]);
    for (const format of formats) {
      const raster = await bench.run(half, (image) => image.resize({ width: 20 }), format);
      expectNothing(colorAt(raster, 0.2, 0.5), format);
      expect(distance(colorAt(raster, 0.8, 0.5), [0, 0, 255]), format).to.be.at.most(8);
    }
  });

  for (const space of ['b-w', 'cmyk'] as const) {
    it(`may follow on a jpeg in ${space}, shrunk so far that it is decoded smaller`, async () => {
      const grey = paint(200, 150, (x) => (x < 100 ? [40, 40, 40] : [220, 220, 220]));
      const jpeg = await toSharp(grey).toColourspace(space).jpeg({ quality: 95 }).toBuffer();
      const whole = await bench.run(jpeg);
      for (const format of formats) {
        const raster = await bench.run(jpeg, (image) => image.resize({ width: 48 }).border(of(8)), format);
        expect(distance(colorAt(raster, 0.27, 0.5), colorAt(whole, 0.25, 0.5))).to.be.at.most(12);
        expect(distance(colorAt(raster, 0.73, 0.5), colorAt(whole, 0.75, 0.5))).to.be.at.most(12);
        expect(distance(colorAt(raster, 0, 0), purple)).to.be.at.most(30);
      }
    });
  }

  it('follows any orientation', async () => {
    for (let orientation = 1; orientation <= 8; orientation++) {
      const stored = toSharp(storeTurned(quadrants(120, 80), orientation)).withMetadata({ orientation });
      const jpeg = await stored.jpeg({ quality: 95 }).toBuffer();
      const raster = await bench.run(jpeg, (i) => i.resize({ width: 30, height: 20, fit: 'fill' }));
      expectQuadrants(raster, 20, `${orientation}`);
    }
  });

  it('follows a crop, and sees nothing of what was cut off', async () => {
    const halves = paint(80, 20, (x) => (x < 40 ? [250, 0, 0] : [0, 0, 250]));
    const right = { left: 40, top: 0, width: 40, height: 20 };
    const raster = await bench.run(halves, (image) => image.crop(right).resize({ width: 10 }));
    for (const pixel of pixelsOf(raster)) expect(pixel).to.deep.equal([0, 0, 250, 255]);
  });
}

const mark: WatermarkOptions = { text: 'Ag©', opacity: 1, fontSize: 24, color: '#ff0000' };

/** Watermarks: place, opacity, size; texts and pictures. */
export function watermarkTests(bench: EngineBench): void {
  const paper = plain(120, 90, white);
  const write = async (options: Partial<WatermarkOptions>, on = paper) =>
    bench.run(on, (image) => image.watermark({ ...mark, ...options }));

  describe('watermark', () => {
    for (const position of ['top-left', 'top-right', 'bottom-left', 'bottom-right'] as const) {
      it(`stands ${position} with a margin and changes nothing else`, async () => {
        const { left, top, right, bottom } = inkOf(await write({ position }));
        expect(position.startsWith('top') ? top : 89 - bottom).to.be.within(4, 19);
        expect(position.endsWith('left') ? left : 119 - right).to.be.within(4, 19);
        expect(Math.max(right - left, bottom - top)).to.be.within(10, 59);
      });
    }

    it('has the colour asked for on what is clear', async () => {
      const raster = await write({}, plain(40, 40, [0, 0, 255, 0]));
      const ink = pixelsOf(raster).filter(([, , , alpha]) => alpha !== 0);
      expect(ink.length).to.be.greaterThan(20);
      for (const pixel of ink) expect(pixel.slice(0, 3)).to.deep.equal([255, 0, 0]);
    });

    it('is invisible at opacity 0, solid at 1 and half way at 0.5', async () => {
      const darkest = async (opacity: number) => {
        const pixels = pixelsOf(await write({ opacity, color: '#000000' }));
        return Math.min(...pixels.map(([red = 0]) => red));
      };
      expect([await darkest(0), await darkest(1)]).to.deep.equal([255, 0]);
      expect(await darkest(0.5)).to.be.within(127, 128);
    });

    it('of spaces draws nothing', async () => {
      expect(inkOf(await write({ text: '   ' })).right).to.equal(-1);
    });

    it('has lines that stand flush with its side', async () => {
      for (const side of ['left', 'right'] as const) {
        const rows = inkedRows(await write({ text: 'HHHH\nH', fontSize: 20, position: `top-${side}` }));
        const ends = rows.filter(({ right }) => right >= 0).map((row) => row[side]);
        expect(Math.max(...ends) - Math.min(...ends), side).to.be.at.most(1);
      }
    });

    it("with a character that no font draws is the input's fault", async () => {
      const error = await rejectionOf(write({ text: 'a\u4e2d' }));
      expect(error).to.include({ code: 'invalid_input' });
      expect(error.details[0].field).to.equal('text');
      expect(error.details[0].problem).to.include('\u4e2d');
    });

    it('is drawn over a border that came first and under one that came after', async () => {
      const border = { width: 40, color: '#ffffff' };
      const over = await bench.run(paper, (image) => image.border(border).watermark(mark));
      expect(inkOf(over).bottom).to.be.greaterThan(140);
      const under = await bench.run(paper, (image) => image.watermark(mark).border(border));
      expect(inkOf(under).bottom).to.be.lessThan(130);
    });

    it('can be read on any grey, and on nothing, where no ink is asked for', async () => {
      const text = { text: '© Example 2026' };
      const black = { ...text, fontSize: 'auto', color: '#000000' } as const;
      const solid = pixelsOf(await write(black, plain(210, 160, white)));
      expect(solid.filter(([red]) => red === 0).length).to.be.greaterThan(30);
      const luminanceUnder = (raster: Raster) =>
        meanLuminance(pixelsOf(raster).filter((_, at) => solid[at]?.[0] === 0));
      const greys = [0, 118, 188, 255].map((grey) => [grey, grey, grey]);
      for (const color of [...greys, [0, 0, 0, 0], [0, 0, 0, 128]]) {
        for (const format of ['png', 'jpg'] as const) {
          const source = plain(210, 160, color);
          const after = await bench.run(source, (image) => image.watermark(text), format);
          const contrast = contrastOf(luminanceUnder(source), luminanceUnder(after));
          expect(contrast, `${color} of a ${format}`).to.be.at.least(2);
        }
      }
    });

    it('stands out by its outline where it does not by its ink', async () => {
      const grey = plain(210, 160, [90, 90, 90]);
      const style = { fontSize: 12, color: '#5a5a5a', outline: 3 };
      const raster = await write({ text: '© Example 2026', ...style }, grey);
      expect(pixelsOf(raster).filter(([red = 0]) => red > 250).length).to.be.greaterThan(500);
    });
  });

  describe('a picture as a mark', () => {
    const lay = async (logo: Raster, options: Omit<LogoOptions, 'mark'>, on = white): Promise<Raster> => {
      const mark = await bench.open(logo);
      return bench.run(plain(100, 80, on), (image) => image.watermark({ ...options, mark }));
    };

    it('has the part of the width that is asked for, and its own proportions and transparency', async () => {
      // Red left, half clear blue in the middle, clear green right.
      const stripe = (x: number) => (x < 20 ? [255, 0, 0, 255] : x < 40 ? [0, 0, 255, 128] : [0, 255, 0, 0]);
      const stripes = paint(60, 20, stripe);
      const raster = await lay(stripes, { scale: 0.6, position: 'center', opacity: 1 });
      expect(distance(colorAt(raster, 0.25, 0.5), [255, 0, 0])).to.be.at.most(2);
      expect(distance(colorAt(raster, 0.5, 0.5), [127, 127, 255])).to.be.at.most(2);
      expect(distance(colorAt(raster, 0.75, 0.5), white)).to.equal(0);
      expect(colorAt(raster, 0.19, 0.5).slice(0, 3)).to.deep.equal(white);
      expect(colorAt(raster, 0.21, 0.5)[1]).to.be.below(10);
      expect(colorAt(raster, 0.25, 0.36).slice(0, 3)).to.deep.equal(white);
      expect(colorAt(raster, 0.25, 0.39)[1]).to.be.below(10);
    });

    it('is half transparent, a fifth of the width, in the bottom right corner where nothing is said', async () => {
      const raster = await lay(plain(7, 7, white), {}, [0, 0, 0]);
      // A twentieth of 80 from the edges.
      for (const x of [0.955, 0.765]) expect(colorAt(raster, x, 0.945)[0]).to.be.within(127, 128);
      for (const x of [0.965, 0.755]) expect(colorAt(raster, x, 0.945)[0]).to.equal(0);
    });

    it('is turned with its corners, on nothing', async () => {
      const red = plain(40, 40, [255, 0, 0]);
      const raster = await lay(red, { scale: 0.4, position: 'center', rotate: 45, opacity: 1 });
      expect(distance(colorAt(raster, 0.5, 0.5), [255, 0, 0])).to.be.at.most(1);
      expect(colorAt(raster, 0.25, 0.5)[1]).to.be.below(10);
      expect(colorAt(raster, 0.31, 0.28).slice(0, 3)).to.deep.equal(white);
    });

    it('covers the picture as tiles, edges too', async () => {
      const raster = await lay(plain(10, 10, [255, 0, 0]), { scale: 0.1, tile: { spacing: 0 }, opacity: 1 });
      for (const pixel of pixelsOf(raster)) expect(pixel).to.deep.equal([255, 0, 0, 255]);
    });

    it('is the first frame of an animation, and what was made of the picture', async () => {
      const moving = await bench.open(await animation().gif().toBuffer());
      const mark = moving.crop({ left: 0, top: 0, width: 8, height: 8 });
      const options = { mark, opacity: 1, position: 'center' } as const;
      const raster = await bench.run(paper, (image) => image.watermark(options));
      expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(2);
    });

    it('draws nothing where it is clear, however large or small', async () => {
      const clear = [9, 9, 9, 0];
      for (const logo of [plain(1, 1, clear), plain(500, 3, clear), plain(3, 500, clear)]) {
        const raster = await lay(logo, { scale: 1, rotate: 10, opacity: 1 });
        expect(inkOf(raster).right).to.equal(-1);
      }
    });
  });
}

/** The first and the last pixel of each row that is not white; right is -1 where all are. */
function inkedRows(raster: Raster): { left: number; right: number }[] {
  const isInk = pixelsOf(raster).map(([, green]) => green !== 255);
  return Array.from({ length: raster.height }, (_, y) => {
    const row = isInk.slice(y * raster.width, (y + 1) * raster.width);
    return { left: row.indexOf(true), right: row.lastIndexOf(true) };
  });
}

/** The box of what is not white; right is -1 where all is. */
function inkOf(raster: Raster) {
  const rows = inkedRows(raster);
  const inked = rows.filter(({ right }) => right >= 0);
  return {
    left: Math.min(...inked.map(({ left }) => left)),
    right: Math.max(-1, ...inked.map(({ right }) => right)),
    top: rows.findIndex(({ right }) => right >= 0),
    bottom: rows.findLastIndex(({ right }) => right >= 0),
  };
}
