/**
 * Prints what a PNG costs beside sharp's, with its defaults and as one would tune it: CPU time (all threads) of encoding
 * decoded pixels, and bytes, for each kind of picture, side by side in one process. What the choice calls thorough the
 * sharp engine leaves to sharp. `node dist/test/bench/png.js [FILE]`
 */
import { readFile } from 'node:fs/promises';
import sharp, { type PngOptions, type Sharp } from 'sharp';
import { choosePngStrategy, encodePng } from '../../pool/image/png/encode.js';
import type { Raster } from '../../pool/image/raster.js';
import { drawPhoto } from './photo.js';

/** Rounds in which V8 still compiles; not counted. */
const warmUp = 3;
const rounds = 9;

const file = process.argv[2];
const photo = sharp(file ? await readFile(file) : await drawPhoto(2500, 1786));
const tuned: PngOptions = { compressionLevel: 1, adaptiveFiltering: true };

const pictures: Record<string, Raster> = {
  'photograph, 2500 px': await toRaster(photo.clone().resize(2500)),
  'photograph, 768 px': await toRaster(photo.clone().resize(768)),
  'grey photograph, 768 px': await toRaster(photo.clone().resize(768).modulate({ saturation: 0 })),
  'drawing, 1280 px': await toRaster(sharp(Buffer.from(drawing()))),
};

console.log(
  `${file ?? 'drawn pictures'}: CPU and bytes of a PNG, ours as a share of sharp's; medians of ${rounds}`,
);
for (const [name, raster] of Object.entries(pictures)) {
  const { data, width, height, channels } = raster;
  const bySharp = (options?: PngOptions) =>
    sharp(data, { raw: { width, height, channels } }).png(options).toBuffer();
  const contenders = [
    contender(async () => encodePng(raster)),
    contender(() => bySharp()),
    contender(() => bySharp(tuned)),
  ] as const;
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const one of contenders) await run(one, round >= warmUp);
  }
  const [own, ...others] = contenders;
  const [defaults, best] = others.map(
    (other) => `CPU × ${share(median(own.cpu), median(other.cpu))}, bytes × ${share(own.bytes, other.bytes)}`,
  );
  const { packing } = choosePngStrategy(raster);
  console.log(`${name} (${packing}): of the defaults ${defaults} | of level 1 with adaptive filters ${best}`);
}

interface Contender {
  work: () => Promise<Uint8Array>;
  cpu: number[];
  bytes: number;
}

function contender(work: Contender['work']): Contender {
  return { work, cpu: [], bytes: 0 };
}

async function run(one: Contender, counts: boolean): Promise<void> {
  const before = process.cpuUsage();
  one.bytes = (await one.work()).length;
  const { user, system } = process.cpuUsage(before);
  if (counts) one.cpu.push(user + system);
}

function share(a: number, b: number): string {
  return (a / b).toFixed(2);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

async function toRaster(image: Sharp): Promise<Raster> {
  const frame = { top: 20, right: 20, bottom: 20, left: 20, background: '#800080' };
  const { data, info } = await image.removeAlpha().extend(frame).raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels as 3 | 4, frames: 1 };
}

/** A page of boxes and discs, in flat colours. */
function drawing(): string {
  const shapes = Array.from({ length: 60 }, (_, i) => {
    const [x, y] = [(i * 397) % 1200, (i * 211) % 760];
    const fill = `hsl(${i * 37} 70% 50%)`;
    return i % 2
      ? `<circle cx="${x}" cy="${y}" r="${10 + ((i * 37) % 50)}" fill="${fill}"/>`
      : `<rect x="${x}" y="${y}" width="90" height="30" fill="${fill}"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="800"><rect width="1280" height="800" fill="#fff"/>${shapes.join('')}</svg>`;
}
