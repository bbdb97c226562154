import sharp, { type Sharp } from 'sharp';
import { type Call, createClient, inParallel } from '../client.js';
import { multipart, type Random } from '../mutate.js';
import { factsOf } from '../process-facts.js';
import type { Scenario, Tally } from '../scenario.js';
import type { World } from '../world.js';

/** In pixels, and how often: most pictures are small. */
const widths = [200, 200, 320, 320, 480, 480, 640, 640, 800, 1200, 2500];
const formats: readonly ((image: Sharp) => Sharp)[] = [
  (image) => image.jpeg(),
  (image) => image.png({ adaptiveFiltering: true }),
  (image) => image.webp({ effort: 1 }),
  (image) => image.gif({ effort: 1, dither: 0 }),
];
/** The share of the calls after which memory is looked at: until then each thread and each pool takes what it will keep. */
const warmUp = 0.2;

type Chance = { random: Random; tally: Tally };

/**
 * Has a gateway draw borders and watermarks on pictures of all sizes and formats, four at a time, and looks at its memory all the while.
 * Gives its megabytes in the first half of the calls and in the second; not a number where it could not be looked at.
 */
async function drawMixedPictures({ url, pid, key, alive }: World, calls: number, { random, tally }: Chance) {
  const bySize = new Map<number, Uint8Array[]>();
  for (const width of new Set(widths)) {
    bySize.set(width, await Promise.all(formats.map((format) => source(width, format))));
  }
  const client = createClient(url, 4);
  const samples: number[] = [];
  const every = Math.max(1, Math.round(calls / 1000));
  await inParallel({ at: 4, times: calls, goesOn: alive }, async (index) => {
    const bytes = random.pick(bySize.get(random.pick(widths)) ?? []);
    const { status, ms } = await client.call(callOf(key, bytes, random));
    tally.good(status, ms);
    if (index >= calls * warmUp && index % every === 0) samples.push(factsOf(pid)?.rssMb ?? Number.NaN);
  });
  client.close();
  const half = samples.length >> 1;
  return { first: mean(samples.slice(0, half)), second: mean(samples.slice(half)) };
}

function callOf(key: string, bytes: Uint8Array, { pick, below }: Random): Call {
  const format = pick(['jpg', 'png', 'webp']);
  const [name, fields] = pick([
    ['border', { width: String(below(60)), format }],
    ['watermark', { text: `No. ${below(1000)}`, font_size: String(12 + below(60)), format }],
    ['watermark', { text: `No. ${below(1000)}`, rotate: String(below(360)), tile: pick(['0', '1']), format }],
  ] as const);
  const values = Object.entries(fields).map(([name, value]) => ({ name, value }));
  const form = multipart([...values, { name: 'file', filename: 'picture', value: bytes }]);
  return { path: `/media/add-${name}?ak=${key}`, ...form };
}

/** Soft shapes: neither a drawing nor a photograph, and small in every format. */
async function source(width: number, format: (image: Sharp) => Sharp): Promise<Uint8Array> {
  const size = { width: width >> 4, height: Math.round(width * 0.7) >> 4 };
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 };
  const rough = sharp({ create: { ...size, channels: 3, background: '#888', noise } });
  const soft = sharp(await rough.png().toBuffer()).resize(width, Math.round(width * 0.7));
  return new Uint8Array(await format(soft).toBuffer());
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** What the second half may take more than the first: a leak of a few kilobytes a picture is past it. */
const most = 1.05;

/** Nothing of a picture stays: memory is as high after tens of thousands of them as after thousands. */
export const manyPictures: Scenario = {
  name: 'memory over many pictures',
  // As people run it: with the C library's own way of keeping what is freed.
  env: { MALLOC_MMAP_THRESHOLD_: undefined, MALLOC_TRIM_THRESHOLD_: undefined },
  // What threads and the C library keep for the next picture is judged by its growth, and waiting by other scenarios.
  bounds: { backMb: 1_000, healthMs: 1_000 },
  async attack(world, { scale, random, tally }) {
    const { first, second } = await drawMixedPictures(world, scale.calls, { random, tally });
    const [before, after] = [first.toFixed(0), second.toFixed(0)];
    console.log(`    ${scale.calls} pictures: ${before} MB in the first half, ${after} MB in the second`);
    if (tally.goodStatuses.size !== 1) tally.fault('not all pictures were drawn');
    if (!(second <= first * most)) tally.fault(`memory grew × ${(second / first).toFixed(2)}`);
  },
};
