import { expect } from 'chai';
import type { Image } from '../../../../pool/image/engine.js';
import { colorAt, distance, limits, quadrantColors, sources } from '../pictures.js';
import { type EngineBench, formats, purple } from './bench.js';

/** Borders: colour, width, order. */
export function borderTests(bench: EngineBench): void {
  describe('border', () => {
    for (const format of formats) {
      it(`is of the colour and width asked for on each side of a ${format}`, async () => {
        const raster = await bench.run(
          await sources.png(),
          (image) => image.border({ width: 24, color: '#800080' }),
          format,
        );
        expect([raster.width, raster.height]).to.deep.equal([96, 80]);
        const tolerance = format === 'png' ? 0 : 12;
        for (const [x, y] of [
          [0, 0],
          [0.99, 0],
          [0, 0.99],
          [0.99, 0.99],
          [0.5, 0.05],
          [0.05, 0.5],
          [0.5, 0.95],
          [0.95, 0.5],
        ] as const) {
          expect(distance(colorAt(raster, x, y), purple), `${x} ${y}`).to.be.at.most(tolerance);
        }
      });
    }

    it('starts at the exact pixel', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 3, color: '#800080' }),
      );
      const at = (x: number, y: number) => [...raster.data.subarray((y * 54 + x) * 4, (y * 54 + x) * 4 + 3)];
      expect([at(2, 20), at(20, 2), at(51, 20), at(20, 35)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(3, 3)).to.deep.equal(quadrantColors.topLeft);
      expect(at(50, 34)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('of width 0 changes nothing', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 0, color: '#800080' }),
      );
      expect(
        Buffer.from(raster.data).equals((await bench.run(await sources.png(), (image) => image)).data),
      ).to.equal(true);
    });

    it('may be of another width on each side, in pixels and per cent of the shorter side', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 1, top: 2, right: '25%', left: 0, color: '#800080' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48 + 8, 32 + 3]);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 56 + x) * 4, (y * 56 + x) * 4 + 3)];
      expect([at(0, 1), at(48, 10), at(55, 10), at(10, 34)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(0, 2)).to.deep.equal(quadrantColors.topLeft);
      expect(at(47, 33)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('lies over the edges where it is inset, and then the size stays', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 3, bottom: 5, color: '#800080', inset: true }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 48 + x) * 4, (y * 48 + x) * 4 + 3)];
      expect([at(2, 15), at(45, 15), at(20, 2), at(20, 27)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(3, 3)).to.deep.equal(quadrantColors.topLeft);
      expect(at(44, 26)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('covers a picture that is smaller than its inset widths', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 5000, color: '#800080', inset: true }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      for (let i = 0; i < raster.data.length; i += 4) {
        expect([...raster.data.subarray(i, i + 4)]).to.deep.equal([...purple, 255]);
      }
    });

    it('has round corners, clear outside, and white in a jpg', async () => {
      const round = (image: Image) => image.border({ width: 4, color: '#800080', radius: 10 });
      const raster = await bench.run(await sources.png(), round);
      expect(colorAt(raster, 0, 0)).to.deep.equal([0, 0, 0, 0]);
      expect(colorAt(raster, 0.5, 0)).to.deep.equal([...purple, 255]);
      const jpg = await bench.run(await sources.png(), round, 'jpg');
      expect(distance(colorAt(jpg, 0, 0), [255, 255, 255])).to.be.at.most(12);
    });

    it('rounds a picture alone, too, as far as it is round', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 0, color: '#800080', radius: 5000 }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      expect(colorAt(raster, 0, 0.99)[3]).to.equal(0);
      expect(colorAt(raster, 0.25, 0.25)).to.deep.equal([...quadrantColors.topLeft, 255]);
    });

    it('takes no width but pixels and per cent', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      const border = (options: object) => () => image.border({ width: 1, color: '#000000', ...options });
      for (const top of ['5', 'auto', 1.5, null, '-1%', '1e1%']) {
        expect(border({ top }), `top ${top}`).to.throw(TypeError, 'top');
      }
      expect(border({ top: '101%' }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ radius: -1 }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ left: 16_384 }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ color: 'red' })).to.throw(TypeError, '#rrggbb');
      expect(border({ wdth: 3 })).to.throw(TypeError, 'wdth');
    });

    it('goes around another border, in the order in which they were asked for', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 2, color: '#ff0000' }).border({ width: 4, color: '#00ff00' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([60, 44]);
      expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal([0, 255, 0]);
      expect([...raster.data.subarray((5 * 60 + 5) * 4, (5 * 60 + 5) * 4 + 3)]).to.deep.equal([255, 0, 0]);
    });

    it('lets an image be used again for another result', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      await image.border({ width: 2, color: '#ff0000' }).encode('png');
      expect((await bench.decode((await image.encode('png')).body)).width).to.equal(48);
    });
  });
}
