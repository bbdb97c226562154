import { expect } from 'chai';
import type { EncodeOptions, Image, ImageEngine, OutputFormat } from '../../../../pool/image/engine.js';
import { canEncode } from '../../../../pool/image/formats.js';
import {
  animation,
  colorAt,
  distance,
  limits,
  quadrantColors,
  quadrants,
  sources,
  toSharp,
} from '../pictures.js';
import type { EngineBench } from './bench.js';

/** `same`, and what an engine does not write. */
export function outputTests(bench: EngineBench, name: ImageEngine['name']): void {
  async function encoding(source: Uint8Array, format: OutputFormat, options?: EncodeOptions) {
    const image: Image = await bench.engine.open(source, limits);
    return image.border({ width: 4, color: '#800080' }).encode(format, options);
  }

  async function details(...asked: Parameters<typeof encoding>): Promise<unknown> {
    const error = await encoding(...asked).then(
      () => undefined,
      (caught) => caught,
    );
    expect(error?.code).to.equal('invalid_input');
    return error.details;
  }

  describe('the format of the source', () => {
    const types = { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp' };
    for (const [source, type] of Object.entries(types) as [keyof typeof types, string][]) {
      it(`is kept of a ${source}`, async () => {
        const result = await encoding(await sources[source](), 'same');
        expect(result.type).to.equal(type);
        const raster = await bench.decode(result.body);
        expect([raster.width, raster.height]).to.deep.equal([56, 40]);
        expect(distance(colorAt(raster, 0.3, 0.3), quadrantColors.topLeft)).to.be.at.most(14);
      });
    }

    for (const source of ['jpeg', 'webp'] as const) {
      it(`takes a quality where it is ${source}`, async () => {
        const picture = toSharp(quadrants(200, 150)).blur(3).toFormat(source);
        const large = await encoding(await picture.toBuffer(), 'same', { quality: 95 });
        const small = await encoding(await picture.toBuffer(), 'same', { quality: 5 });
        expect(small.body.byteLength).to.be.lessThan(large.body.byteLength);
      });
    }

    it('takes none where it is png', async () => {
      expect(await details(await sources.png(), 'same', { quality: 80 })).to.deep.equal([
        { field: 'quality', problem: 'is for jpg, webp and avif; the picture is a png, and has none' },
      ]);
    });

    it('is no excuse for a quality that there is not', async () => {
      expect(await details(await sources.jpeg(), 'same', { quality: 101 })).to.deep.equal([
        { field: 'quality', problem: 'must be a whole number from 1 to 100, but is 101' },
      ]);
    });
  });

  if (canEncode(name, 'avif')) return;
  describe('a format that another engine writes', () => {
    const elsewhere = 'sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed';

    it('is refused by name, the engine’s too', async () => {
      for (const [source, format, what, able] of [
        ['png', 'avif', 'avif', 'png, jpg, webp or same'],
        ['gif', 'same', 'gif', 'png, jpg or webp'],
      ] as const) {
        const problem = `must be ${able} here: the image engine ${name} writes no ${what}; ${elsewhere}`;
        expect(await details(await sources[source](), format)).to.deep.equal([{ field: 'format', problem }]);
      }
    });

    it('is refused before a pixel is decoded', async () => {
      const broken = await sources.png();
      broken.fill(0xff, broken.indexOf('IDAT') + 4, broken.length - 12);
      expect(await details(broken, 'avif')).to.have.length(1);
    });

    it('is not what an animation quietly becomes', async () => {
      const moving = await animation().webp({ lossless: true }).toBuffer();
      const problem = `must be png, jpg or webp here, which give the first frame: this webp is animated, and the image engine ${name} writes no animations; ${elsewhere}`;
      expect(await details(moving, 'same')).to.deep.equal([{ field: 'format', problem }]);
    });
  });
}
