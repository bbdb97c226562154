/**
 * Prints what a PNG costs beside sharp's, with its defaults and as one would tune it: processor time (all threads) and bytes, for
 * each kind of picture, side by side in one process; of the packing alone, and of a border on a file from its bytes to the answer's.
 * Large drawings the sharp engine leaves to sharp, so their packing alone is another's. `node dist/test/bench/png.js [FILE]`
 */
import { readFile } from 'node:fs/promises';
import sharp, { type PngOptions, type Sharp } from 'sharp';
import { choosePngStrategy, encodePng } from '../../pool/image/png/encode.js';
import type { Raster } from '../../pool/image/raster.js';
import { makeEngine } from '../pool/image/engines.js';
import { border, loop, withBorder } from './bare-loop.js';
import { inTurns, printTable, ratio } from './measure.js';
import { drawGraphic, drawPhoto } from './pictures.js';

const limits = { maxPixels: 100_000_000, maxFrames: 1 };
const file = process.argv[2];
const photo = sharp(file ? await readFile(file) : await drawPhoto(2500, 1786));
const tuned: PngOptions = { compressionLevel: 1, adaptiveFiltering: true };
const grey = photo.clone().resize(768).modulate({ saturation: 0 });
const opaque = sharp(await drawGraphic(1280, 800)).ensureAlpha();

const pictures: Record<string, Uint8Array> = {
  'photograph, 2500 px': await photo.clone().resize(2500).jpeg().toBuffer(),
  'photograph, 768 px': await photo.clone().resize(768).jpeg().toBuffer(),
  'grey photograph, 768 px': await grey.jpeg().toBuffer(),
  'drawing, 2500 px': await drawGraphic(2500, 1600),
  'drawing, 1280 px': await drawGraphic(1280, 800),
  'drawing with opaque alpha': await opaque.png().toBuffer(),
  'drawing with alpha': await opaque.clone().composite([alphaDisc()]).png().toBuffer(),
  'drawing, 400 px': await drawGraphic(400, 300),
};
/** Made last, for from then on sharp reads no drawings. */
const engine = await makeEngine('sharp');

const packed: string[][] = [];
const whole: string[][] = [];
for (const [name, bytes] of Object.entries(pictures)) {
  const raster = await toRaster(withBorder(sharp(bytes)));
  const { data, width, height, channels } = raster;
  const bySharp = (options?: PngOptions) => () =>
    sharp(data, { raw: { width, height, channels } }).png(options).toBuffer();
  const { packing } = choosePngStrategy(raster);
  packed.push([name, packing, ...(await compare(async () => encodePng(raster), bySharp(), bySharp(tuned)))]);
  const pipeline = (options?: PngOptions) => () => withBorder(sharp(bytes)).png(options).toBuffer();
  whole.push([name, packing, ...(await compare(() => ours(bytes), pipeline(), pipeline(tuned)))]);
}
const heading = ['packing', "of sharp's CPU", 'bytes', 'of level 1, adaptive', 'bytes'];
console.log(`  ${file ?? 'drawn pictures'}`);
printTable(['packing alone', ...heading], packed);
console.log('');
printTable(['a border, whole', ...heading], whole);

type Encode = () => Promise<Uint8Array>;

/** CPU and bytes of the first as a share of each other's. */
async function compare(own: Encode, ...others: Encode[]): Promise<string[]> {
  const ways = [own, ...others];
  const costs = await inTurns(ways.map(loop), { turnMs: 150 });
  const sizes = await Promise.all(ways.map(async (way) => (await way()).length));
  return others.flatMap((_, at) => [
    ratio(costs[0]?.cpuMs ?? Number.NaN, costs[at + 1]?.cpuMs ?? Number.NaN),
    ratio(sizes[0] ?? Number.NaN, sizes[at + 1] ?? Number.NaN),
  ]);
}

async function ours(bytes: Uint8Array): Promise<Uint8Array> {
  const image = await engine.open(bytes, limits);
  return (await image.border(border).encode('png')).body;
}

async function toRaster(image: Sharp): Promise<Raster> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels as 3 | 4, frames: 1 };
}

/** Leaves of a picture what lies in a disc with a soft rim. */
function alphaDisc(): { input: Buffer; blend: 'dest-in' } {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="800">' +
    '<radialGradient id="g"><stop offset="0.9"/><stop offset="1" stop-opacity="0"/></radialGradient>' +
    '<ellipse cx="640" cy="400" rx="600" ry="380" fill="url(#g)"/></svg>';
  return { input: Buffer.from(svg), blend: 'dest-in' };
}
