import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { encodePng } from '../../../../pool/image/png/encode.js';
import {
  choosePngStrategy,
  findPacker,
  type Packer,
  type PngStrategy,
  stripBytes,
  takeSamples,
} from '../../../../pool/image/png/strategy.js';
import { placeOnCanvas, type Raster, withAlpha } from '../../../../pool/image/raster.js';
import { decodeByJimp, decodeBySharp } from '../engines.js';
import { type Content, contents, drawRaster } from './pictures.js';

const packer = findPacker() as Packer;

const shapes = fc.record({
  width: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 700 })),
  height: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 300 })),
  channels: fc.constantFrom<3 | 4>(3, 4),
  content: fc.constantFrom(...(Object.keys(contents) as Content[])),
  seed: fc.nat(),
});
const rasters = shapes.map(({ content, width, height, channels, seed }) =>
  drawRaster(content, width, height, channels, seed),
);

/** That two decoders read the same pixels back. */
async function expectSame(raster: Raster, strategy: PngStrategy): Promise<void> {
  const png = encodePng(raster, strategy);
  const expected = withAlpha(raster).data;
  for (const decode of [decodeBySharp, decodeByJimp]) {
    const { data, width, height } = await decode(png);
    expect([width, height]).to.deep.equal([raster.width, raster.height]);
    expect(Buffer.from(expected).equals(data), `${width} × ${height}`).to.equal(true);
  }
}

const packings = { huffman: 1, runs: 1.08, matches: 1.16, thorough: 1.25 };
type ZlibWay = Exclude<PngStrategy, { packing: 'strips' }>;
/** Every way of zlib's, and what one of its bytes counts for: a slower way has to earn its CPU. */
const zlibWays = Object.entries(packings).flatMap(([packing, weight]) =>
  ['none', 'sub', 'up', 'average'].map((filter) => ({ way: { filter, packing } as ZlibWay, weight })),
);

describe('encodePng', () => {
  for (const { way } of zlibWays) {
    it(`with ${Object.values(way).join(' and ')} is read back to the same pixels by two decoders`, async () => {
      const property = fc.asyncProperty(rasters, (raster) => expectSame(raster, way));
      await fc.assert(property, { numRuns: 8 });
    });
  }

  it('gives the same bytes for the same pixels', () => {
    const raster = drawRaster('photo', 100, 10, 3, 1);
    expect(Buffer.from(encodePng(raster)).equals(encodePng(raster))).to.equal(true);
  });
});

describe('a PNG packed in strips', () => {
  const strips = { packing: 'strips' } as const;

  it('is read back to the same pixels by two decoders', async () => {
    const property = fc.asyncProperty(rasters, (raster) => expectSame(raster, strips));
    await fc.assert(property, { numRuns: 60 });
  });

  it('may have any sides, and rows longer than a strip', async () => {
    expect(33_000 * 4).to.be.above(stripBytes);
    for (const content of ['noise', 'gradient', 'sparse'] as const) {
      for (const size of ['1x1', '1x70000', '70000x1', '33000x5', '2x3']) {
        const [width, height] = size.split('x').map(Number) as [number, number];
        const raster = drawRaster(content, width, height, 4, 1);
        await expectSame(raster, strips);
        await expectSame(raster, { filter: 'sub', packing: 'runs' });
      }
    }
  });

  it('needs hardly anything for what is flat, and grows noise by less than a hundredth', () => {
    const [flat, noise] = [drawRaster('flat', 1000, 1000, 3, 1), drawRaster('noise', 500, 500, 3, 1)];
    expect(encodePng(flat, strips).length).to.be.below(flat.data.length / 300);
    expect(encodePng(noise, strips).length).to.be.below(noise.data.length * 1.01);
  });

  it('begins anew, whatever one that was broken off left behind', async () => {
    packer.begin(packer.out.value + 3);
    packer.put(5, 3);
    await expectSame(drawRaster('photo', 90, 90, 3, 1), strips);
  });
});

const photo = drawRaster('photo', 400, 300, 3, 1);
const drawing = drawRaster('drawing', 400, 300, 3, 1);
/** Red, green and blue the same: three bytes in a row repeat much more often than by chance. */
const grey = { ...photo, data: photo.data.map((_, i) => photo.data[i - (i % 3)] as number) };
const noise = drawRaster('noise', 400, 300, 3, 1);
const canvas = { width: 440, height: 340 };
const framed = placeOnCanvas(photo, canvas, { left: 20, top: 20 }, Buffer.of(128, 0, 128));

describe('choosePngStrategy', () => {
  it('packs in strips what does not repeat, and leaves the rest to zlib', () => {
    for (const raster of [photo, framed, noise]) expect(choosePngStrategy(raster).packing).to.equal('strips');
    for (const raster of [drawing, grey]) {
      expect(choosePngStrategy(raster).packing).to.be.oneOf(['matches', 'thorough']);
    }
  });

  const kinds: Record<string, Raster> = { framed, grey };
  for (const content of Object.keys(contents) as Content[]) {
    kinds[content] = drawRaster(content, 300, 200, 4, 3);
  }
  for (const [name, raster] of Object.entries(kinds)) {
    it(`makes no file larger than zlib's ways do: ${name}`, () => {
      // Thoroughness for what repeats, the others for differences.
      const ways = zlibWays.filter(({ way }) => (way.filter === 'none') === (way.packing === 'thorough'));
      const sizes = ways.map(({ way, weight }) => encodePng(raster, way).length * weight);
      expect(encodePng(raster).length).to.be.at.most(Math.min(...sizes) * 1.013);
    });
  }

  it('knows how most kinds are packed', () => {
    const names = ['photo', 'gradient', 'drawing', 'flat', 'sparse'];
    const packings = names.map((name) => choosePngStrategy(kinds[name] as Raster).packing);
    expect(packings).to.deep.equal(['strips', 'runs', 'thorough', 'thorough', 'thorough']);
  });

  it('looks at a bounded part of rows, however long', () => {
    const rows = { data: new Uint8Array(9_000_000), stride: 3_000_000, pixel: 3 };
    for (const place of takeSamples(rows, 3)) expect(place.data.length).to.be.below(100_000);
  });
});

/** Encodes in a process in which there is no SIMD; says how, and the file. */
const encodeBare = `
  const [, encodeFile, strategyFile, picturesFile, blind] = process.argv;
  if (blind) WebAssembly.validate = () => false;
  const { encodePng } = await import(encodeFile);
  const { choosePngStrategy } = await import(strategyFile);
  const { drawRaster } = await import(picturesFile);
  const found = ['photo', 'drawing'].map((content) => {
    const raster = drawRaster(content, 400, 300, 3, 1);
    return [choosePngStrategy(raster).packing, Buffer.from(encodePng(raster)).toString('base64')];
  });
  console.log(JSON.stringify(found));
`;

describe('encodePng without SIMD', () => {
  const modules = ['../../../../pool/image/png/encode.js', '../../../../pool/image/png/strategy.js'];
  const files = [...modules, './pictures.js'].map((file) => new URL(file, import.meta.url).href);
  const module = ['--input-type=module', '-e', encodeBare, ...files];
  const cases = {
    'without WebAssembly': ['--jitless', ...module],
    'with an older one': [...module, 'blind'],
  };
  for (const [name, args] of Object.entries(cases)) {
    it(`leaves everything to zlib ${name}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const found = JSON.parse(stdout) as [packing: string, png: string][];
      expect(found.map(([packing]) => packing)).to.deep.equal(['huffman', 'thorough']);
      for (const [i, [, png]] of found.entries()) {
        const { data } = await decodeBySharp(Buffer.from(png, 'base64'));
        expect(Buffer.from(data).equals(withAlpha(i === 0 ? photo : drawing).data)).to.equal(true);
      }
    });
  }
});
