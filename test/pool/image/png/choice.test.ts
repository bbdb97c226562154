import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { choosePngStrategy, encodePng } from '../../../../pool/image/png/encode.js';
import { filterRows } from '../../../../pool/image/png/filter.js';
import { judge } from '../../../../pool/image/png/judge.js';
import { findPacker, type Packer } from '../../../../pool/image/png/packer.js';
import { samplePlaces } from '../../../../pool/image/png/sample.js';
import { deflateRows, tryStrategies } from '../../../../pool/image/png/strategy.js';
import { mount, type Raster } from '../../../../pool/image/raster.js';
import { decodeBySharp } from '../decoders.js';
import { type Content, contents, drawRaster } from './pictures.js';

const packer = findPacker() as Packer;
const photo = drawRaster('photo', 400, 300, 3, 1);
const drawing = drawRaster('drawing', 400, 300, 3, 1);
/** Red, green and blue the same: three bytes in a row repeat much more often than by chance. */
const grey = { ...photo, data: photo.data.map((_, i) => photo.data[i - (i % 3)] as number) };
const noise = drawRaster('noise', 400, 300, 3, 1);
const framed = mount(photo, 440, 340, 20, 20, Buffer.from('800080', 'hex'));

/** Bytes of the best that zlib's trials find. */
function triedSize(raster: Raster): number {
  const rows = { data: raster.data, stride: raster.width * raster.channels, pixel: raster.channels };
  const { filter, packing } = tryStrategies(samplePlaces(rows, raster.height));
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
    for (const place of samplePlaces(rows, 3)) expect(place.data.length).to.be.below(100_000);
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
        const places = samplePlaces({ data, stride: width * 4, pixel: 4 }, height);
        expect(judge(packer, places).packing).to.equal(packing);
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
