import { expect } from 'chai';
import fc from 'fast-check';
import { type ImageEngine, ImageError } from '../../../pool/image/engine.js';
import { checkHeader, probeImage } from '../../../pool/image/header.js';
import { alphaKind, avifOf, box, codedItem, grid, imir, irot, ispe, u32 } from './avif.js';
import { decodeBySharp, makeEngine } from './engines.js';
import {
  colorAt,
  distance,
  expectQuadrants,
  limits,
  pixelAt,
  plain,
  quadrantColors,
  quadrants,
  rejectionOf,
  sizeOf,
  storeTurned,
  toSharp,
} from './pictures.js';

/** Four tiles of one colour each as one picture, which need not show all of the last ones. */
async function tiled(width: number, height: number, { tileSide = 64, rows = 2, shown = [1, 2, 3, 4] } = {}) {
  const tiles = await Promise.all(
    Object.values(quadrantColors).map((color) => codedItem(plain(tileSide, tileSide, color), ispe(64, 64))),
  );
  const bits = box('pixi', u32(0), [3, 8, 8, 8]);
  const data = grid(rows, shown.length / rows, width, height);
  const properties = [ispe(width, height), bits];
  return [{ type: 'grid', data, properties, references: { dimg: shown } }, ...tiles];
}

const refusal = (bytes: Uint8Array) => {
  try {
    checkHeader(bytes, limits);
  } catch (error) {
    return error as ImageError;
  }
  throw new Error('It was accepted.');
};

describe('the header of an avif', () => {
  it('is that of its primary item, by its own turn and flip and not by EXIF', async () => {
    const exif = await toSharp(quadrants()).withMetadata({ orientation: 6 }).avif().toBuffer();
    expect(probeImage(exif)?.orientation).to.equal(6);
    // libvips writes it as `irot`, and as EXIF beside it.
    const at = exif.indexOf('irot', 0, 'latin1');
    exif.writeUInt8(0, at + 4);
    expect(probeImage(exif)).to.include({ width: 48, height: 32, orientation: 1 });
  });

  it('is of the size of a grid, and counts the pixels of its tiles', async () => {
    const expected = { width: 120, height: 100, codedPixels: 4 * 64 * 64, alpha: false };
    expect(probeImage(avifOf(await tiled(120, 100)))).to.include(expected);
  });

  it('has transparency by an item beside it, and none by a depth map', async () => {
    const [item, beside] = [await codedItem(quadrants()), await codedItem(plain(48, 32, [9, 9, 9]))];
    const depth = box('auxC', u32(0), 'urn:mpeg:mpegB:cicp:systems:auxiliary:depth\0');
    for (const [kind, alpha] of [
      [alphaKind, true],
      [depth, false],
    ] as const) {
      const aux = { ...beside, properties: [...beside.properties, kind], references: { auxl: [0] } };
      expect(probeImage(avifOf([item, aux]))).to.include({ alpha });
    }
  });

  it('does not hide what is coded: a large picture, tile or transparency, many frames', async () => {
    const item = await codedItem(quadrants());
    const large = await codedItem(plain(1500, 1000, [9, 9, 9]), ispe(48, 32));
    const alpha = { ...large, properties: [...large.properties, alphaKind], references: { auxl: [0] } };
    const [frame] = [item.data.subarray(item.data.indexOf(0x32))];
    const film = { ...item, data: Buffer.concat([item.data, ...Array<Uint8Array>(999).fill(frame)]) };
    for (const file of [[large], [item, alpha], [film], await tiled(120, 100, { tileSide: 600 })]) {
      const error = refusal(avifOf(file));
      expect(error.code).to.equal('image_too_large');
      expect(error.message).to.match(/^The image decodes to \d{7} pixels; the limit is 1000000\.$/);
    }
  });

  it('is refused where decoders may read another file than this', async () => {
    const item = await codedItem(quadrants());
    const withProperties = (...more: Buffer[]) => ({ ...item, properties: [...item.properties, ...more] });
    const sound = avifOf([item]);
    expect(probeImage(sound)).to.include({ width: 48 });
    const second = Buffer.concat([sound, sound.subarray(sound.indexOf('meta', 0, 'latin1') - 4)]);
    const [first, ...tiles] = await tiled(120, 100);
    for (const bytes of [
      second,
      avifOf([withProperties(ispe(9, 9))]),
      avifOf([withProperties(imir(0), irot(1))]),
      avifOf([withProperties(box('clap', Buffer.alloc(32)))]),
      avifOf([item], { more: [box('moov')] }),
      avifOf([{ ...item, type: 'hvc1' }]),
      avifOf([{ ...item, data: item.data.subarray(0, 20) }]),
      avifOf([{ ...item, properties: item.properties.slice(0, 1) }]),
      avifOf([{ ...(first as typeof item), data: grid(2, 2, 12_000, 10_000) }, ...tiles]),
      avifOf([{ ...(first as typeof item), references: { dimg: [0, 0, 0, 0] } }, ...tiles]),
      avifOf([{ ...(first as typeof item), references: { dimg: [1, 1, 1, 1] } }, ...tiles]),
      avifOf([item, ...Array(5).fill({ type: 'Exif', data: Buffer.alloc(0), properties: [] })]).fill(
        255,
        80,
        84,
      ),
    ]) {
      expect(refusal(bytes).message).to.match(/^This is not a JPEG, PNG, WebP, GIF or AVIF/);
    }
  });

  it('names HEIC and animations, and what to send in their place', async () => {
    const item = await codedItem(quadrants());
    for (const [brands, what] of [
      [['heic', 'mif1'], /a HEIC .* Send a JPEG, PNG/],
      [['mif1', 'heix'], /a HEIC .* Send a JPEG, PNG/],
      [['avis', 'avif', 'msf1'], /an animated AVIF, .* still AVIF/],
    ] as const) {
      expect(refusal(avifOf([item], { brands: [...brands] })).message).to.match(what);
    }
  });

  it('is read in no time, however much a file repeats', async () => {
    const item = await codedItem(quadrants());
    const repeat = (...bytes: number[]) => Buffer.alloc(16e6, Uint8Array.from(bytes));
    const often = { dimg: Array<number>(15_000).fill(1) };
    for (const file of [
      // A length without an end, OBUs without content, a number of ticks without an end, a tile again and again.
      [{ ...item, data: Buffer.concat([item.data, Buffer.from([0x12]), repeat(0x80)]) }],
      [{ ...item, data: Buffer.concat([item.data, repeat(0x12, 0)]) }],
      [{ ...item, data: Buffer.concat([Buffer.from([8, 4, 0, 0, 0, 0, 0, 0, 0, 2]), repeat(0)]) }],
      [{ ...item, type: 'grid', references: often }, item],
    ]) {
      const bytes = avifOf(file);
      const began = performance.now();
      expect(refusal(bytes).code).to.equal('bad_image');
      expect(performance.now() - began).to.be.below(500);
    }
  });
});

for (const name of ['sharp', 'jimp'] as const) {
  describe(`an avif as a source of ${name}`, () => {
    let engine: ImageEngine;
    before(async () => {
      engine = await makeEngine(name);
    });

    const decode = async (bytes: Uint8Array) =>
      decodeBySharp((await (await engine.open(bytes, limits)).encode('png')).body);

    it('is turned and flipped as its boxes say', async () => {
      for (const [turns, flip, orientation] of [
        [0, -1, 1],
        [0, 1, 2],
        [2, -1, 3],
        [0, 0, 4],
        [1, 0, 5],
        [3, -1, 6],
        [3, 0, 7],
        [1, -1, 8],
        [2, 1, 4],
        [1, 1, 7],
      ] as const) {
        const item = await codedItem(storeTurned(quadrants(), orientation));
        item.properties.push(irot(turns), ...(flip < 0 ? [] : [imir(flip)]));
        const bytes = avifOf([item]);
        expect(probeImage(bytes)?.orientation).to.equal(orientation);
        const raster = await decode(bytes);
        expect(sizeOf(raster)).to.deep.equal([48, 32]);
        expectQuadrants(raster, 20, `${orientation}`);
        const cut = (await engine.open(bytes, limits)).crop({ left: 24, top: 16, width: 24, height: 16 });
        const part = await decodeBySharp((await cut.resize({ width: 6 }).encode('png')).body);
        expect(distance(colorAt(part, 0.5, 0.5), quadrantColors.bottomRight)).to.be.at.most(20);
      }
    });

    it('is put together of its tiles', async () => {
      const raster = await decode(avifOf(await tiled(120, 100)));
      expect(sizeOf(raster)).to.deep.equal([120, 100]);
      expectQuadrants(raster, 20);
    });

    it('keeps what is clear', async () => {
      const bytes = await toSharp(plain(64, 64, [200, 40, 30, 99]))
        .avif({ quality: 90 })
        .toBuffer();
      expect(distance(pixelAt(await decode(bytes), 9, 9), [200, 40, 30, 99])).to.be.at.most(8);
    });

    it('is a bad picture where it is coded smaller than it says, or broken', async () => {
      const small = await codedItem(plain(24, 32, [9, 9, 9]), ispe(48, 32));
      const item = await codedItem(quadrants());
      const broken = { ...item, data: Buffer.from(item.data).fill(0xa5, 30) };
      for (const bytes of [avifOf([small]), avifOf([broken])]) {
        expect(await rejectionOf(decode(bytes))).to.include({ code: 'bad_image' });
      }
      expectQuadrants(await decode(avifOf([item])), 20);
    });

    it('throws nothing but an ImageError, whatever bytes are changed', async () => {
      const item = await codedItem(quadrants());
      const alpha = { ...item, properties: [...item.properties, alphaKind], references: { auxl: [0] } };
      const whole = [avifOf([item, alpha]), avifOf(await tiled(120, 100))];
      const changes = fc.array(fc.tuple(fc.nat(900), fc.nat(255)), { maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...whole), changes, async (file, changes) => {
          const bytes = Buffer.from(file);
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          const error = await rejectionOf(decode(bytes));
          if (error) expect(error).to.be.instanceOf(ImageError);
        }),
        { numRuns: name === 'sharp' ? 1000 : 150 },
      );
    });
  });
}
