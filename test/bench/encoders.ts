/**
 * Prints what sharp's encoders give for their cost, as ratios to their defaults, so that it can be seen which options lie on the front:
 * nothing else there is cheaper, smaller and closer at once. The last of each format is what the gateway makes of the picture.
 * `node dist/test/bench/encoders.js [FILE]`
 */
import sharp, { type PngOptions, type Sharp, type WebpOptions } from 'sharp';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { asItComes, type Format, formats, loop } from './bare-loop.js';
import { inTurns, printTable, ratio } from './measure.js';
import { closeness, drawGraphic, pictures } from './pictures.js';

type Encode = (image: Sharp) => Sharp;

const webp: WebpOptions[] = [0, 1, 2, 3].flatMap((effort) => [{ effort }, { effort, quality: 81 }]);
const filtered: PngOptions[] = [1, 2, 3, 6].map((compressionLevel) => ({
  compressionLevel,
  adaptiveFiltering: true,
}));
const others: Record<Format, [string, Encode][]> = {
  jpg: [{ optimiseCoding: false }, { progressive: true }].map((options) => [
    told(options),
    (image) => image.jpeg(options),
  ]),
  webp: webp.map((options) => [told(options), (image) => image.webp(options)]),
  png: [{ compressionLevel: 1 }, ...filtered].map((options) => [
    told(options),
    (image) => image.png(options),
  ]),
};

/** `effort 2, quality 81`. */
function told(options: object): string {
  return Object.entries(options)
    .map(([name, value]) => (value === true ? name : value === false ? `no ${name}` : `${name} ${value}`))
    .join(', ');
}

const file = process.argv[2];
const { from, sizes } = await pictures(file);
// Drawn before the engine is loaded, for that blocks SVG in the whole process.
const graphic = await drawGraphic(1200, 800);
const { engine } = await loadEngine('sharp', { fonts: createFontSet, timeoutSeconds: 30 });

const sources = [
  // A large one takes minutes, and tells more than the small one only where it is a photograph.
  ...(file ? sizes : sizes.slice(1)).map(({ name, bytes }) => ({ name: `${from}, ${name}`, bytes })),
  { name: 'a drawing', bytes: graphic },
];
for (const { name, bytes } of sources) {
  const rows: string[][] = [];
  for (const format of formats) rows.push(...(await front(bytes, format)));
  printTable([name, 'CPU', 'bytes', 'PSNR dB'], rows);
  console.log('');
}

async function front(bytes: Uint8Array, format: Format): Promise<string[][]> {
  const image = () => sharp(bytes).autoOrient();
  const limits = { maxPixels: 40_000_000, maxFrames: 250 };
  const ways: [string, () => Promise<Uint8Array>][] = [
    ['default', () => asItComes[format](image()).toBuffer()],
    ...others[format].map(([name, encode]): [string, () => Promise<Uint8Array>] => [
      name,
      () => encode(image()).toBuffer(),
    ]),
    ['the gateway', async () => (await (await engine.open(bytes, limits)).encode(format)).body],
  ];
  const costs = await inTurns(
    ways.map(([, work]) => loop(work)),
    { rounds: 3, turnMs: 100 },
  );
  const results = await Promise.all(ways.map(([, work]) => work()));
  const psnr = await Promise.all(results.map((result) => closeness(bytes, result)));
  const [cost, bytesOfDefault, close] = [costs[0]?.cpuMs ?? 0, results[0]?.length ?? 0, psnr[0] ?? 0];
  return ways.map(([name], at) => [
    `${format} ${name}`,
    ratio(costs[at]?.cpuMs ?? 0, cost),
    ratio(results[at]?.length ?? 0, bytesOfDefault),
    close === psnr[at] ? '0' : ((psnr[at] ?? 0) - close).toFixed(2),
  ]);
}
