import { expect } from 'chai';
import fc from 'fast-check';
import type { Image, OutputFormat } from '../../../../pool/image/engine.js';
import { afterStep, forStep } from '../../../../pool/image/recorded-image.js';
import { type EngineBench, example } from '../engines.js';
import { animation, paint, sources, toSharp } from '../pictures.js';

type Step = (image: Image) => Image;

const steps: Record<string, Step> = {
  nothing: (image) => image,
  smaller: (image) =>
    image.resize({ width: Math.ceil(image.width * 0.6), height: image.height, fit: 'inside' }),
  larger: (image) => image.resize({ width: image.width + 7 }),
  cover: (image) => image.resize({ width: 30, height: 20, fit: 'cover' }),
  focus: (image) => image.resize({ width: 24, height: 30, fit: 'cover', focus: 'auto' }),
  // Turned and made once more, it stays below the limit of pixels on the way.
  'larger focus': (image) => image.resize({ width: 430, height: 90, fit: 'cover', focus: 'auto' }),
  crop: (image) => image.crop({ left: 1, top: 2, width: image.width - 3, height: image.height - 4 }),
  turn: (image) => image.rotate(90),
  tilt: (image) => image.rotate(10),
  border: (image) => image.border({ width: 3, color: '#336699' }),
  rounded: (image) => image.border({ width: 2, color: '#993366', radius: 9 }),
  text: (image) => image.watermark({ text: 'Ab', opacity: 0.7 }),
  logo: (image) => image.watermark({ mark: image.resize({ width: 9 }), opacity: 0.5, rotate: 20 }),
  'two at once': (image) => image.border({ width: 1, color: '#ffffff' }).resize({ width: 40 }),
};

/** The bytes that steps give when they run in one call. */
async function together(image: Image, chosen: readonly Step[], format: OutputFormat): Promise<Uint8Array> {
  let current = image;
  for (const step of chosen) {
    const answer = await step(forStep(current, true).image).encode('webp');
    const next = afterStep(answer, false);
    if (!next) throw new Error('the step was not recorded');
    current = next.image;
  }
  return (await current.encode(format)).body;
}

/** The same through a PNG between every two. */
async function apart(
  { open }: EngineBench,
  image: Image,
  chosen: readonly Step[],
  format: OutputFormat,
): Promise<Uint8Array> {
  let current = image;
  for (const [at, step] of chosen.entries()) {
    const isLast = at === chosen.length - 1;
    const { body } = await step(current).encode(isLast ? format : 'png');
    if (isLast) return body;
    current = await open(body);
  }
  throw new Error('no step');
}

const wavy = (x: number, y: number) => [(x * 5) & 255, (y * 7) & 255, (x * y) & 255];
const cut = (x: number, y: number) => [...wavy(x, y), (x + y) % 3 === 0 ? 0 : 255 - ((x * 3) & 127)];

/** Steps of one call on one picture. */
export function stepTests(bench: EngineBench): void {
  const pictures: Record<string, () => Promise<Uint8Array>> = {
    ...sources,
    photograph: example,
    'large png': () =>
      toSharp(paint(400, 300, wavy))
        .png()
        .toBuffer(),
    'transparent png': () =>
      toSharp(paint(90, 70, cut))
        .png()
        .toBuffer(),
    'large transparent png': () =>
      toSharp(paint(400, 300, cut))
        .png()
        .toBuffer(),
    'grey png': () =>
      toSharp(paint(90, 70, wavy))
        .greyscale()
        .png()
        .toBuffer(),
    'lying jpeg': () =>
      toSharp(paint(90, 70, wavy))
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer(),
    'cmyk jpeg': () =>
      toSharp(paint(90, 70, wavy))
        .toColourspace('cmyk')
        .jpeg()
        .toBuffer(),
    animation: () => animation().gif().toBuffer(),
  };
  const formats: OutputFormat[] =
    bench.name === 'sharp' ? ['png', 'jpg', 'webp', 'avif'] : ['png', 'jpg', 'webp'];

  it('gives the bytes of its steps chained through PNG', async () => {
    const names = fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 2, maxLength: 4 });
    const source = fc.constantFrom(...Object.keys(pictures));
    await fc.assert(
      fc.asyncProperty(source, names, fc.constantFrom(...formats), async (picture, named, format) => {
        const bytes = (await pictures[picture]?.()) as Uint8Array;
        const chosen = named.map((name) => steps[name] as Step);
        const one = await together(await bench.open(bytes), chosen, format);
        const other = await apart(bench, await bench.open(bytes), chosen, format);
        expect(Buffer.compare(one, other), `${picture}: ${named.join(', ')} as ${format}`).to.equal(0);
      }),
      { numRuns: bench.name === 'sharp' ? 150 : 40 },
    );
  });
}
