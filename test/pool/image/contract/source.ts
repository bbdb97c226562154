import { expect } from 'chai';
import { limits, sources } from '../pictures.js';
import type { EngineBench } from './bench.js';
import { example } from './examples.js';

const files = [
  ['png', 'png', 'image/png'],
  ['jpeg', 'jpg', 'image/jpeg'],
  ['webp', 'webp', 'image/webp'],
  ['gif', 'gif', 'image/gif'],
] as const;

/** What a picture tells of the file that it is. */
export function sourceTests(bench: EngineBench): void {
  describe('the source', () => {
    for (const [source, format, type] of files) {
      it(`of a ${source} is called ${format}, also after an operation`, async () => {
        const image = await bench.engine.open(await sources[source](), limits);
        expect([image.format, image.type]).to.deep.equal([format, type]);
        const cut = image.crop({ left: 0, top: 0, width: 5, height: 5 });
        expect([cut.format, cut.type]).to.deep.equal([format, type]);
      });
    }

    it('is there as it came, the same bytes each time', async () => {
      const source = await sources.gif();
      const image = await bench.engine.open(source, limits);
      expect(source.equals(image.bytes)).to.equal(true);
      expect(image.rotate(90).bytes).to.equal(image.bytes);
      expect(image.bytes.byteLength).to.equal(image.bytes.buffer.byteLength);
    });

    it('may be written into and moved away without harm to the picture', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      image.bytes.fill(7);
      structuredClone(image.bytes, { transfer: [image.bytes.buffer as ArrayBuffer] });
      const raster = await bench.decode((await image.encode('png')).body);
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
    });
  });

  describe('quality', () => {
    for (const format of ['jpg', 'webp'] as const) {
      it(`makes a ${format} smaller or larger`, async () => {
        const whole = await bench.engine.open(await example(), limits);
        const image = whole.crop({ left: 180, top: 120, width: 120, height: 80 });
        const size = async (quality?: number) => (await image.encode(format, { quality })).body.byteLength;
        expect(await size(20)).to.be.lessThan(await size());
        expect(await size(95)).to.be.greaterThan(await size());
      });
    }
  });
}
