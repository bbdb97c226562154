import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import type { Image, ImageEngine, OutputFormat } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { type Decode, decodeBySharp } from '../engines.js';
import { limits, paint, pngOf } from '../pictures.js';

/** What both engines write. */
export const formats = ['png', 'jpg', 'webp'] as const;
export const purple = [128, 0, 128];

/** An engine under test and the means to look at what it makes. */
export interface EngineBench {
  /** There from the first test on, not before. */
  readonly engine: ImageEngine;
  /** Another library than the engine's own. */
  decode: Decode;
  /** What the recipe makes of the picture, decoded. */
  run(bytes: Uint8Array, recipe: (image: Image) => Image, format?: OutputFormat): Promise<Raster>;
}

export function engineBench(getEngine: () => ImageEngine, decode: Decode): EngineBench {
  return {
    get engine() {
      return getEngine();
    },
    decode,
    async run(bytes, recipe, format = 'png') {
      const image = await getEngine().open(bytes, limits);
      return decode((await recipe(image).encode(format)).body);
    },
  };
}

const file = new URL('../../../../../plugins/media/example.jpg', import.meta.url);

/** A drawing of 480 × 320 pixels, as a JPEG. */
export function example(): Promise<Buffer> {
  return readFile(file);
}

/** Rings that grow ever finer towards the corners, 300 × 200 pixels: what tells one kernel from another. */
export function rings(): Promise<Buffer> {
  const zone = paint(300, 200, (x, y) => {
    const wave = Math.cos((x * x + y * y) / 250);
    return [128 + 127 * wave, 128 - 90 * wave, 128 + 60 * Math.sin(x / 9)].map(Math.round);
  });
  return pngOf(zone);
}

/** What libvips makes of the picture at this size when it is asked for nothing else, to compare with. */
export async function resizedByVips(picture: Uint8Array, width: number, height: number): Promise<Raster> {
  // Decoded first: a JPEG would be shrunk in part by its decoder.
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const { width: w, height: h, channels } = info;
  const raw = sharp(data, { raw: { width: w, height: h, channels } });
  return decodeBySharp(await raw.resize(width, height, { fit: 'fill' }).png().toBuffer());
}

/** Peak signal-to-noise ratio of two RGBA pictures of one size, in dB: 30 is visibly different, 40 hardly. */
export function psnr(one: Raster, other: Raster): number {
  if (one.data.length !== other.data.length) throw new Error('Pictures of different sizes.');
  let squares = 0;
  for (let i = 0; i < one.data.length; i++)
    squares += ((one.data[i] as number) - (other.data[i] as number)) ** 2;
  return 10 * Math.log10(255 ** 2 / (squares / one.data.length));
}
