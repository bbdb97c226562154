import { expect } from 'chai';
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
