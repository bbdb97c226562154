/**
 * How often the subject of a picture stays whole where `focus: 'auto'` cuts, beside `attention` of libvips. On drawn scenes, whose
 * subject is known, and on photographs where they are; their boxes were read off by a person. `node dist/test/bench/focus.js`
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { findFocus } from '../../pool/image/focus.js';
import type { Raster } from '../../pool/image/raster.js';
import { toSharp } from '../pool/image/pictures.js';
import { drawScene, type Scene } from '../pool/image/scenes.js';
import { atLeast, inTurns, printGoals, printTable } from './measure.js';
import { drawPhoto } from './pictures.js';

const scenes = 245;
/** Of a checkout beside this one's; the photographs are not the project's to hand on. */
const folder = process.env.BENCH_IMAGES ?? join('..', 'shared', 'images');
/** Width by height of what is cut out. */
const shapes = [1, 3 / 4, 9 / 16, 1 / 2, 4 / 3, 16 / 9, 2, 3];
/** Pixels of what is cut out, as of a thumbnail. */
const area = 160 * 120;
/** What is at the subject's edges may be lost to rounding. */
const slack = 1.5;

/** From the left, from the top, right and bottom edges, as parts of the picture. */
const boxes: [file: string, what: string, box: [number, number, number, number]][] = [
  ['photos/photo-2500x1786.jpg', 'head', [0.2, 0.44, 0.46, 0.77]],
  ['photos/photo-2500x1786.jpg', 'woman', [0.11, 0.16, 0.81, 0.8]],
  ['photos/kodak-23.jpg', 'red parrot’s head', [0.52, 0.2, 0.9, 0.6]],
  ['photos/kodak-23.jpg', 'both heads', [0.09, 0.2, 0.9, 0.62]],
  ['photos/photo-7680x4320.jpg', 'discs', [0.27, 0.1, 0.69, 0.82]],
  ['photos/alpha-640x480.png', 'disc', [0.25, 0.15, 0.75, 0.85]],
  ['photos/kodak-1.png', 'door', [0.28, 0.49, 0.42, 0.9]],
  ['photos/kodak-13.png', 'snowy peaks', [0.38, 0.07, 0.72, 0.25]],
  ['exif/Landscape_6.jpg', 'waterfall', [0.57, 0, 0.84, 1]],
  ['cases/cmyk.jpg', 'nearest skydiver', [0.45, 0.03, 1, 0.66]],
];

interface Tally {
  cuts: number;
  ours: number;
  attention: number;
  middle: number;
}

const drawn = await tally(async function* () {
  for (let index = 0; index < scenes; index += 1) {
    const scene = drawScene(index);
    yield { ...scene, bytes: await toSharp(scene.raster).jpeg({ quality: 90 }).toBuffer() };
  }
});
const photographs = existsSync(folder) ? await tally(photos) : undefined;
if (!photographs) console.log(`  no photographs in ${folder}: drawn scenes alone`);

const percent = (part: number, { cuts }: Tally) => `${((100 * part) / cuts).toFixed(1)} %`;
const sets = [
  ['drawn scenes', drawn] as const,
  ...(photographs ? [['photographs', photographs] as const] : []),
];
printTable(
  ['subject whole', 'cuts', 'auto', 'attention', 'center'],
  sets.map(([name, of]) => [
    name,
    String(of.cuts),
    ...[of.ours, of.attention, of.middle].map((n) => percent(n, of)),
  ]),
);
const large = await toRaster(sharp(await drawPhoto(2500, 1786)));
const place = { scaled: large, width: 1786, height: 1786 };
const [own] = await inTurns([
  {
    cpuMs: () => process.cpuUsage().user / 1000,
    work: async (pieces) => {
      for (let i = 0; i < pieces; i++) findFocus(large, place);
    },
  },
]);
console.log(`  to find it in 2500 × 1786 decoded pixels: ${own.cpuMs.toFixed(1)} ms of CPU`);
printGoals(
  sets.map(([name, { ours, attention }]) => atLeast(1, `${name}, beside attention`, ours / attention, '×')),
);

async function* photos(): AsyncGenerator<Scene & { bytes: Uint8Array }> {
  for (const [file, name, [left, top, right, bottom]] of boxes) {
    const raster = await toRaster(
      sharp(await readFile(join(folder, file)), { limitInputPixels: false })
        .autoOrient()
        .resize({ width: 1200, height: 1200, fit: 'inside', withoutEnlargement: true })
        .toColourspace('srgb')
        .flatten({ background: '#ffffff' }),
    );
    const { width, height } = raster;
    const box = { left: left * width, top: top * height, right: right * width, bottom: bottom * height };
    yield { name: `${file}: ${name}`, raster, box, bytes: await toSharp(raster).png().toBuffer() };
  }
}

async function tally(pictures: () => AsyncGenerator<Scene & { bytes: Uint8Array }>): Promise<Tally> {
  const sum: Tally = { cuts: 0, ours: 0, attention: 0, middle: 0 };
  for await (const { raster, box, bytes } of pictures()) {
    for (const shape of shapes) {
      const height = Math.round(Math.sqrt(area / shape));
      const size = { width: Math.round(height * shape), height };
      const factor = Math.max(size.width / raster.width, size.height / raster.height);
      if (!isTask(raster, box, size, factor)) continue;
      const scaled = await toRaster(
        sharp(bytes).resize(Math.round(raster.width * factor), Math.round(raster.height * factor), {
          fit: 'fill',
        }),
      );
      const { info } = await sharp(bytes)
        .resize({ ...size, fit: 'cover', position: 'attention' })
        .raw()
        .toBuffer({ resolveWithObject: true });
      const whole = ({ left, top }: { left: number; top: number }) =>
        box.left * factor >= left - slack &&
        box.top * factor >= top - slack &&
        box.right * factor <= left + size.width + slack &&
        box.bottom * factor <= top + size.height + slack;
      sum.cuts += 1;
      sum.ours += Number(whole(findFocus(scaled, { scaled, ...size })));
      sum.attention += Number(whole({ left: -(info.cropOffsetLeft ?? 0), top: -(info.cropOffsetTop ?? 0) }));
      sum.middle += Number(
        whole({ left: (scaled.width - size.width) / 2, top: (scaled.height - size.height) / 2 }),
      );
    }
  }
  return sum;
}

/** Whether the subject fits into what is cut out with a little room, and enough is cut off to tell. */
function isTask(raster: Raster, box: Scene['box'], size: { width: number; height: number }, factor: number) {
  const [width, height] = [size.width / factor, size.height / factor];
  const fits = (own: number, cut: number, all: number) => cut > all - 1 || own * 1.1 <= cut;
  return (
    fits(box.right - box.left, width, raster.width) &&
    fits(box.bottom - box.top, height, raster.height) &&
    Math.min(width / raster.width, height / raster.height) < 0.93
  );
}

async function toRaster(image: Sharp): Promise<Raster> {
  const { data, info } = await image.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: 3, frames: 1 };
}
