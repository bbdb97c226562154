import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inflateSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { choosePngStrategy, encodePng } from '../../../../pool/image/png/encode.js';
import {
  choosePacking,
  deflateRows,
  type FilterName,
  filterRows,
  findPacker,
  type Packer,
  stripBytes,
  takeSamples,
  tryStrategies,
} from '../../../../pool/image/png/strategy.js';
import { placeOnCanvas, type Raster } from '../../../../pool/image/raster.js';
import { decodeByJimp, decodeBySharp } from '../engines.js';
import { type Content, contents, drawRaster } from './pictures.js';

describe('encodePng', () => {
  const packings = ['huffman', 'runs', 'matches', 'thorough'] as const;
  const filters: FilterName[] = ['none', 'sub', 'up', 'average'];

  const rasters = fc
    .record({
      width: fc.integer({ min: 1, max: 20 }),
      height: fc.integer({ min: 1, max: 20 }),
      channels: fc.constantFrom(3, 4),
    })
    .chain(({ width, height, channels }) => {
      const length = width * height * channels;
      return fc.uint8Array({ minLength: length, maxLength: length }).map((data) => ({
        data,
        width,
        height,
        channels: channels as 3 | 4,
        frames: 1,
      }));
    });

  for (const filter of filters) {
    for (const packing of packings) {
      it(`with ${filter} and ${packing} is read back to the same pixels by two decoders`, async () => {
        await fc.assert(
          fc.asyncProperty(rasters, async (raster) => {
            const png = encodePng(raster, { filter, packing });
            for (const decode of [decodeBySharp, decodeByJimp]) {
              const { data, width, height } = await decode(png);
              expect([width, height]).to.deep.equal([raster.width, raster.height]);
              const expected = [...raster.data].flatMap((value, i) =>
                raster.channels === 3 && i % 3 === 2 ? [value, 255] : [value],
              );
              expect([...data]).to.deep.equal(expected);
            }
          }),
          { numRuns: 15 },
        );
      });
    }
  }

  it('gives the same bytes for the same pixels', () => {
    const raster = {
      data: Buffer.alloc(3000, 'photo'),
      width: 100,
      height: 10,
      channels: 3 as const,
      frames: 1,
    };
    expect(Buffer.from(encodePng(raster)).equals(encodePng(raster))).to.equal(true);
  });
});

const packer = findPacker() as Packer;

describe('a PNG packed in strips', () => {
  function encode(raster: Raster): Uint8Array {
    return encodePng(raster, { packing: 'strips', packer });
  }

  async function expectSame(raster: Raster): Promise<void> {
    const png = encode(raster);
    const expected = withAlpha(raster);
    for (const decode of [decodeBySharp, decodeByJimp]) {
      const { data, width, height } = await decode(png);
      expect([width, height]).to.deep.equal([raster.width, raster.height]);
      expect(expected.equals(data), `${decode.name} of ${width} × ${height}`).to.equal(true);
    }
  }

  function withAlpha({ data, channels }: Raster): Buffer {
    if (channels === 4) return Buffer.from(data);
    const out = Buffer.alloc((data.length / 3) * 4, 255);
    for (let from = 0, to = 0; from < data.length; from += 3, to += 4)
      out.set(data.subarray(from, from + 3), to);
    return out;
  }

  const rasters = fc
    .record({
      width: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 700 })),
      height: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 300 })),
      channels: fc.constantFrom(3 as const, 4 as const),
      content: fc.constantFrom(...(Object.keys(contents) as Content[])),
      seed: fc.nat(),
    })
    .map(({ content, width, height, channels, seed }) => drawRaster(content, width, height, channels, seed));

  it('is read back to the same pixels by two decoders', async () => {
    await fc.assert(fc.asyncProperty(rasters, expectSame), { numRuns: 60 });
  });

  for (const content of ['noise', 'gradient', 'sparse'] as const) {
    for (const [width, height] of [
      [1, 1],
      [1, 70_000],
      [70_000, 1],
      [33_000, 5],
      [2, 3],
    ] as const) {
      it(`may be ${width} × ${height}, of ${content}`, async () => {
        await expectSame(drawRaster(content, width, height, 4, 1));
      });
    }
  }

  it('has strips of a row that is longer than one', () => {
    expect(33_000 * 4).to.be.above(stripBytes);
  });

  it('lies in memory of its own', () => {
    const png = encode(drawRaster('noise', 10, 10, 3, 1));
    expect(png.byteLength).to.equal(png.buffer.byteLength);
  });

  it('takes hardly anything for what is flat', () => {
    const raster = drawRaster('flat', 1000, 1000, 3, 1);
    expect(encode(raster).length).to.be.below(raster.data.length / 300);
  });

  it('grows noise by less than a hundredth', () => {
    const raster = drawRaster('noise', 500, 500, 3, 1);
    expect(encode(raster).length).to.be.below(raster.data.length * 1.01);
  });

  it('begins anew, whatever one that was broken off left behind', async () => {
    packer.begin(packer.out.value + 3);
    packer.put(5, 3);
    await expectSame(drawRaster('photo', 90, 90, 3, 1));
  });

  it('is a stream that zlib inflates, with its checksum', () => {
    const raster = drawRaster('sparse', 640, 300, 4, 7);
    const png = Buffer.from(encode(raster));
    const at = png.indexOf('IDAT');
    const rows = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
    expect(rows.length).to.equal(300 * (640 * 4 + 1));
  });
});

const photo = drawRaster('photo', 400, 300, 3, 1);
const drawing = drawRaster('drawing', 400, 300, 3, 1);
/** Red, green and blue the same: three bytes in a row repeat much more often than by chance. */
const grey = { ...photo, data: photo.data.map((_, i) => photo.data[i - (i % 3)] as number) };
const noise = drawRaster('noise', 400, 300, 3, 1);
const framed = placeOnCanvas(
  photo,
  { width: 440, height: 340 },
  { left: 20, top: 20 },
  Buffer.from('800080', 'hex'),
);

/** Bytes of the best that zlib's trials find. */
function triedSize(raster: Raster): number {
  const rows = { data: raster.data, stride: raster.width * raster.channels, pixel: raster.channels };
  const { filter, packing } = tryStrategies(takeSamples(rows, raster.height));
  return deflateRows(filterRows(rows, filter, 0, raster.height), packing).length;
}

describe('choosePngStrategy', () => {
  for (const [name, raster] of Object.entries({ photo, framed, noise })) {
    it(`packs in strips what does not repeat: ${name}`, () => {
      expect(choosePngStrategy(raster).packing).to.equal('strips');
    });
  }

  for (const [name, raster] of Object.entries({ drawing, grey })) {
    it(`leaves what repeats to zlib: ${name}`, () => {
      expect(choosePngStrategy(raster).packing).to.be.oneOf(['matches', 'thorough']);
    });
  }

  const kinds: Record<string, Raster> = { framed, grey };
  for (const content of Object.keys(contents) as Content[]) {
    kinds[content] = drawRaster(content, 300, 200, 4, 3);
  }
  for (const [name, raster] of Object.entries(kinds)) {
    it(`makes no file larger than zlib's ways do: ${name}`, () => {
      // 57 bytes are PNG's own.
      expect(encodePng(raster).length - 57).to.be.at.most(triedSize(raster) * 1.013);
    });
  }

  it('looks at a bounded part of rows, however long', () => {
    const rows = { data: new Uint8Array(9_000_000), stride: 3_000_000, pixel: 3 };
    for (const place of takeSamples(rows, 3)) expect(place.data.length).to.be.below(100_000);
  });
});

describe('judge', () => {
  const contentsOf = {
    strips: ['photo'],
    runs: ['gradient'],
    thorough: ['drawing', 'flat', 'sparse'],
  } as const;
  for (const [packing, names] of Object.entries(contentsOf)) {
    for (const name of names) {
      it(`knows without a trial what ${name} is packed by: ${packing}`, () => {
        const { data, width, height } = drawRaster(name, 300, 200, 4, 3);
        const places = takeSamples({ data, stride: width * 4, pixel: 4 }, height);
        expect(choosePacking(packer, places).packing).to.equal(packing);
      });
    }
  }
});

/** Encodes in a process in which there is no SIMD; says how, and the file. */
const encodeBare = `
  const [, encodeFile, picturesFile, blind] = process.argv;
  if (blind) WebAssembly.validate = () => false;
  const { choosePngStrategy, encodePng } = await import(encodeFile);
  const { drawRaster } = await import(picturesFile);
  const raster = drawRaster('photo', 400, 300, 3, 1);
  const { packing } = choosePngStrategy(raster);
  console.log(JSON.stringify({ packing, png: Buffer.from(encodePng(raster)).toString('base64') }));
`;

describe('encodePng without SIMD', () => {
  const files = ['../../../../pool/image/png/encode.js', './pictures.js'].map(
    (file) => new URL(file, import.meta.url).href,
  );
  const module = ['--input-type=module', '-e', encodeBare, ...files];
  const cases = {
    'without WebAssembly': ['--jitless', ...module],
    'with an older one': [...module, 'blind'],
  };
  for (const [name, args] of Object.entries(cases)) {
    it(`leaves everything to zlib ${name}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { packing, png } = JSON.parse(stdout);
      expect(packing).to.equal('huffman');
      const { data } = await decodeBySharp(Buffer.from(png, 'base64'));
      const opaque = Buffer.from(data.filter((_, i) => i % 4 !== 3));
      expect(opaque.equals(photo.data)).to.equal(true);
    });
  }
});
