/**
 * Prints what the image helpers cost beside the sharp code that one would write oneself: CPU time (all threads), bytes
 * and closeness to the picture before encoding, side by side in one process. `node dist/test/bench/image.js [FILE]`
 */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import type { Image, ImageFormat } from '../../pool/image/engine.js';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { drawPhoto } from './photo.js';

/** Rounds in which V8 still compiles; not counted. */
const warmUp = 2;
const rounds = 5;
const border = 20;
const watermark = '© Example Studio 2026';

const file = process.argv[2];
const source = new Uint8Array(file ? await readFile(file) : await drawPhoto(2500, 1786));
const { engine } = await loadEngine('sharp', { fonts: await createFontSet(), timeoutSeconds: 30 });
// The engine blocks SVG for the whole process; the code that it is compared with draws its text by it.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] });

interface Contender {
  work: () => Promise<Uint8Array>;
  cpu: number[];
  result: Uint8Array;
}

const formats = { jpg: 'jpeg', webp: 'webp', png: 'png' } as const;
const naive = {
  border: (format: ImageFormat) =>
    sharp(source)
      .autoOrient()
      .extend({ top: border, right: border, bottom: border, left: border, background: '#800080' })
      .toFormat(formats[format]),
  watermark: (format: ImageFormat) =>
    sharp(source)
      .autoOrient()
      .composite([{ input: Buffer.from(svg), gravity: 'southeast' }])
      .toFormat(formats[format]),
};
const svg =
  `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"><text x="390" y="44" text-anchor="end" ` +
  `font-family="DejaVu Sans" font-size="32" fill="#fff" fill-opacity="0.5">${watermark}</text></svg>`;

const ours = {
  border: (image: Image) => image.border({ width: border, color: '#800080' }),
  watermark: (image: Image) =>
    image.watermark({
      text: watermark,
      position: 'bottom-right',
      opacity: 0.5,
      fontSize: 32,
      color: '#ffffff',
    }),
};

console.log(
  `${file ?? 'drawn picture'}: CPU ms of one image, median of ${rounds}; KB; PSNR of the middle in dB`,
);
for (const operation of ['border', 'watermark'] as const) {
  for (const format of ['jpg', 'webp', 'png'] as const) {
    const plain = contender(async () => new Uint8Array(await naive[operation](format).toBuffer()));
    const own = contender(async () => {
      const image = await engine.open(source, { maxPixels: 40_000_000, maxFrames: 250 });
      return (await ours[operation](image).encode(format)).body;
    });
    for (let round = 0; round < warmUp + rounds; round++) {
      await run(plain, round < warmUp);
      await run(own, round < warmUp);
    }
    const [a, b] = [await describe(plain), await describe(own)];
    const ratio = (median(own.cpu) / median(plain.cpu)).toFixed(2);
    const bytes = (own.result.length / plain.result.length).toFixed(2);
    console.log(`${operation} ${format}: sharp ${a} | helper ${b} | CPU × ${ratio}, bytes × ${bytes}`);
  }
}

function contender(work: Contender['work']): Contender {
  return { work, cpu: [], result: new Uint8Array() };
}

async function run(one: Contender, warmUp: boolean): Promise<void> {
  const before = process.cpuUsage();
  one.result = await one.work();
  const { user, system } = process.cpuUsage(before);
  if (!warmUp) one.cpu.push((user + system) / 1000);
}

async function describe(one: Contender): Promise<string> {
  const { length } = one.result;
  return `${median(one.cpu).toFixed(0)} ms ${(length / 1024).toFixed(0)} KB ${(await closeness(one.result)).toFixed(1)} dB`;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** Peak signal to noise of the picture's middle, which neither border nor watermark touches, against the source. */
async function closeness(result: Uint8Array): Promise<number> {
  const [before, after] = await Promise.all([middle(source), middle(result)]);
  let squares = 0;
  for (let i = 0; i < before.length; i++) squares += ((before[i] as number) - (after[i] as number)) ** 2;
  return squares === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((255 * 255 * before.length) / squares);
}

async function middle(bytes: Uint8Array): Promise<Buffer> {
  const { width, height } = (await sharp(bytes).metadata()).autoOrient;
  const side = 800;
  const left = (width - side) >> 1;
  const top = (height - side) >> 1;
  return sharp(bytes)
    .autoOrient()
    .removeAlpha()
    .extract({ left, top, width: side, height: side })
    .raw()
    .toBuffer();
}
