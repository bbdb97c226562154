import { expect } from 'chai';
import { colorAt, distance, limits, paint, sources, toSharp } from '../pictures.js';
import { type EngineBench, formats } from './bench.js';

const checkered = paint(23, 17, (x, y) => [x * 11, y * 15, (x * y) & 255, 40 + x * 9]);

/** Crops, turns and overlays, end to end; their pixels are judged by models of each in test/pool/image/geometry/. */
export function geometryTests(bench: EngineBench): void {
  const source = () => toSharp(checkered).png().toBuffer();
  const pixel = (x: number, y: number) => {
    const at = (y * 23 + x) * 4;
    return [...checkered.data.subarray(at, at + 4)];
  };

  describe('crop', () => {
    for (const [left, top, width, height] of [
      [0, 0, 23, 17],
      [3, 5, 7, 11],
      [22, 16, 1, 1],
    ] as const) {
      it(`of ${width} × ${height} at ${left}, ${top} gives just these pixels`, async () => {
        const image = (await bench.engine.open(await source(), limits)).crop({ left, top, width, height });
        expect([image.width, image.height]).to.deep.equal([width, height]);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal([width, height]);
        expect([...raster.data.subarray(0, 4)]).to.deep.equal(pixel(left, top));
        expect([...raster.data.subarray(-4)]).to.deep.equal(pixel(left + width - 1, top + height - 1));
      });
    }

    it('is of the picture as it is after its orientation and the operations before', async () => {
      const turned = await toSharp(paint(40, 20, (x) => (x < 20 ? [200, 0, 0] : [0, 0, 200])))
        .withMetadata({ orientation: 6 })
        .png()
        .toBuffer();
      const lower = await bench.run(turned, (image) =>
        image.crop({ left: 0, top: 20, width: 20, height: 20 }),
      );
      expect(colorAt(lower, 0.5, 0.1)).to.deep.equal([0, 0, 200, 255]);
      const framed = await bench.run(turned, (image) =>
        image.border({ width: 5, color: '#00ff00' }).crop({ left: 0, top: 0, width: 6, height: 6 }),
      );
      expect(colorAt(framed, 0, 0)).to.deep.equal([0, 255, 0, 255]);
      expect(colorAt(framed, 0.99, 0.99)).to.deep.equal([200, 0, 0, 255]);
    });

    for (const format of formats) {
      it(`at once gives a ${format}`, async () => {
        const raster = await bench.run(
          await sources.jpeg(),
          (image) => image.crop({ left: 24, top: 16, width: 20, height: 10 }),
          format,
        );
        expect([raster.width, raster.height]).to.deep.equal([20, 10]);
        expect(distance(colorAt(raster, 0.5, 0.5), [240, 230, 200])).to.be.at.most(14);
      });
    }
  });

  describe('rotate', () => {
    for (const [degrees, corner] of [
      [90, [0, 16]],
      [180, [22, 16]],
      [-90, [22, 0]],
      [270, [22, 0]],
      [450, [0, 16]],
      [-720, [0, 0]],
    ] as const) {
      it(`by ${degrees} moves pixels and changes none`, async () => {
        const image = (await bench.engine.open(await source(), limits)).rotate(degrees);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal([image.width, image.height]);
        expect([image.width, image.height]).to.deep.equal(degrees % 180 ? [17, 23] : [23, 17]);
        expect([...raster.data.subarray(0, 4)]).to.deep.equal(pixel(corner[0], corner[1]));
      });
    }

    for (const format of formats) {
      it(`by 45 is ${format === 'jpg' ? 'white' : 'transparent'} around the picture in a ${format}`, async () => {
        const square = toSharp(paint(50, 50, () => [200, 0, 0]));
        const image = (await bench.engine.open(await square.png().toBuffer(), limits)).rotate(45);
        expect([image.width, image.height]).to.deep.equal([71, 71]);
        const raster = await bench.decode((await image.encode(format)).body);
        expect([raster.width, raster.height]).to.deep.equal([71, 71]);
        expect(distance(colorAt(raster, 0.5, 0.5), [200, 0, 0, 255])).to.be.at.most(12);
        const corner = colorAt(raster, 0.02, 0.02);
        if (format === 'jpg') expect(distance(corner, [255, 255, 255])).to.be.at.most(8);
        else expect(corner[3]).to.be.at.most(2);
      });
    }
  });

  describe('composite', () => {
    const red = () =>
      toSharp(paint(30, 20, () => [200, 0, 0]))
        .png()
        .toBuffer();
    const veil = () =>
      toSharp(paint(10, 10, () => [0, 0, 255, 128]))
        .png()
        .toBuffer();

    it('lays a picture over another where it is told to, and cuts off what lies outside', async () => {
      const base = await bench.engine.open(await red(), limits);
      const overlay = await bench.engine.open(await veil(), limits);
      const image = base.composite(overlay, { left: 25, top: -5 });
      expect([image.width, image.height]).to.deep.equal([30, 20]);
      const raster = await bench.decode((await image.encode('png')).body);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 30 + x) * 4, (y * 30 + x) * 4 + 4)];
      expect([at(25, 0), at(29, 4)]).to.deep.equal([
        [100, 0, 128, 255],
        [100, 0, 128, 255],
      ]);
      expect([at(24, 0), at(25, 5)]).to.deep.equal([
        [200, 0, 0, 255],
        [200, 0, 0, 255],
      ]);
    });

    it('does the operations of the overlay first, and those that follow after', async () => {
      const overlay = (await bench.engine.open(await veil(), limits))
        .resize({ width: 4 })
        .border({ width: 3, color: '#00ff00' });
      const raster = await bench.run(await red(), (image) =>
        image.composite(overlay).rotate(90).border({ width: 1, color: '#ffffff' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([22, 32]);
      expect(colorAt(raster, 0.9, 0.05)).to.deep.equal([0, 255, 0, 255]);
      expect(distance(colorAt(raster, 0.75, 0.18), [100, 0, 128, 255])).to.be.at.most(2);
    });

    it('takes a picture over itself, far outside too', async () => {
      const raster = await bench.run(await red(), (image) =>
        image.composite(image.rotate(30), { left: 900, top: -9e15 }),
      );
      expect(colorAt(raster, 0.5, 0.5)).to.deep.equal([200, 0, 0, 255]);
    });

    it('keeps an overlay transparent in a jpg', async () => {
      const overlay = await bench.engine.open(await veil(), limits);
      const raster = await bench.run(
        await red(),
        (image) => image.composite(overlay.resize({ width: 30 })),
        'jpg',
      );
      expect(distance(colorAt(raster, 0.5, 0.5), [100, 0, 128])).to.be.at.most(14);
    });
  });
}
