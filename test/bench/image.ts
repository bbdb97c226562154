/**
 * Prints what the image helpers cost without a server around them, in one process: CPU time (all threads), bytes and closeness to the
 * source, beside the sharp code that one would write oneself, and beside it with tuned encoders; for the watermark that is a plain
 * re-encode. `node dist/test/bench/image.js [FILE]`
 */
import sharp, { type Sharp } from 'sharp';
import type { Image } from '../../pool/image/engine.js';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { asItComes, border, type Format, formats, loop, tuned, withBorder } from './bare-loop.js';
import { inTurns, printGoals, printTable, ratio } from './measure.js';
import { closeness, decibels, type Picture, pictures } from './pictures.js';
import { watermark, watermarkGoals } from './watermarks.js';

const { from, sizes } = await pictures(process.argv[2]);
const { engine } = await loadEngine('sharp', { fonts: createFontSet, timeoutSeconds: 30 });
// The engine blocks SVG for the whole process; the code that it is compared with draws its text by it.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] });

const svg = Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"><text x="390" y="44" text-anchor="end" ` +
    `font-family="DejaVu Sans" font-size="${watermark.fontSize}" fill="#fff" fill-opacity="0.5">${watermark.text}</text></svg>`,
);
const operations = {
  border: { ours: (image: Image) => image.border(border), naive: withBorder, least: withBorder },
  watermark: {
    ours: (image: Image) => image.watermark(watermark),
    naive: (image: Sharp) => image.composite([{ input: svg, gravity: 'southeast' }]),
    least: (image: Sharp) => image,
  },
} as const;

console.log(`  ${from}; ms of CPU for one picture`);
const rows: string[][] = [];

/** Gives the ratio to the tuned code. */
async function compare(operation: keyof typeof operations, { name, bytes }: Picture, format: Format) {
  const { ours, naive, least } = operations[operation];
  const open = () => sharp(bytes).autoOrient();
  const helper = async () => {
    const image = await engine.open(bytes, { maxPixels: 40_000_000, maxFrames: 250 });
    return (await ours(image).encode(format)).body;
  };
  const plain = () => asItComes[format](naive(open())).toBuffer();
  const [own, usual, bare] = await inTurns([
    loop(helper),
    loop(plain),
    loop(() => tuned[format](least(open())).toBuffer()),
  ]);
  const [a, b] = await Promise.all([helper(), plain()]);
  const psnr = await Promise.all([closeness(bytes, a), closeness(bytes, b)]);
  rows.push([
    `${operation}, ${name} ${format}`,
    own.cpuMs.toFixed(1),
    usual.cpuMs.toFixed(1),
    ratio(own.cpuMs, usual.cpuMs),
    ratio(a.length, b.length),
    ...psnr.map(decibels),
    bare.cpuMs.toFixed(1),
    ratio(own.cpuMs, bare.cpuMs),
  ]);
  return own.cpuMs / bare.cpuMs;
}

for (const size of sizes) for (const format of formats) await compare('border', size, format);
const ratios: number[][] = [];
for (const size of sizes) {
  const ofSize: number[] = [];
  for (const format of formats) ofSize.push(await compare('watermark', size, format));
  ratios.push(ofSize);
}
printTable(['', 'helper', 'plain sharp', '', 'bytes', 'PSNR', 'plain', 'tuned sharp', ''], rows);
console.log('');
printGoals(watermarkGoals('in process', sizes, ratios));
