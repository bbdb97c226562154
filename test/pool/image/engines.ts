import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import decodeAvif, { init as initAvif } from '@jsquash/avif/decode.js';
import decodeWebp, { init } from '@jsquash/webp/decode.js';
import { expect } from 'chai';
import { Jimp } from 'jimp';
import sharp from 'sharp';
import type {
  EngineName,
  Image,
  ImageEngine,
  ImageLimits,
  OutputFormat,
} from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { loadEngine } from '../../../pool/image/select.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';
import { limits, paint, pngOf, sizeOf } from './pictures.js';

/** An engine with the shipped font. */
export async function makeEngine(name: EngineName): Promise<ImageEngine> {
  const { engine } = await loadEngine(name, { fonts: createFontSet, timeoutSeconds: 10 });
  return engine;
}

/** Decodes to RGBA. Each engine's results are read by the other's library. */
type Decode = (bytes: Uint8Array) => Promise<Raster>;

export const decodeBySharp: Decode = async (bytes) => {
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: 4, frames: 1 };
};

export const decodeByJimp: Decode = async (bytes) => {
  const file = Buffer.from(bytes);
  const kind = file.toString('latin1', 8, 12);
  const codec = { WEBP: webp, avif }[kind];
  const { data, width, height } = codec ? await codec(file) : (await Jimp.fromBuffer(file)).bitmap;
  return { data: new Uint8Array(data), width, height, channels: 4, frames: 1 };
};

let webpReady: Promise<unknown> | undefined;

async function webp(bytes: Uint8Array) {
  const path = createRequire(import.meta.url).resolve('@jsquash/webp/codec/dec/webp_dec.wasm');
  webpReady ??= readFile(path).then((wasmBinary) => init({ wasmBinary } as object));
  await webpReady;
  return decodeWebp(bytes as unknown as ArrayBuffer);
}

async function avif(bytes: Uint8Array) {
  const path = createRequire(import.meta.url).resolve('@jsquash/avif/codec/dec/avif_dec.wasm');
  await initAvif({ wasmBinary: await readFile(path) } as object);
  const decoded = await decodeAvif(bytes as unknown as ArrayBuffer);
  if (!decoded) throw new Error('Not an AVIF.');
  return decoded;
}

/** What both engines write. */
export const formats = ['png', 'jpg', 'webp'] as const;

export type EngineBench = ReturnType<typeof engineBench>;

/** An engine under test, made before the tests of the suite that calls this; sources that are pixels become PNGs. */
export function engineBench(name: EngineName) {
  let engine: ImageEngine;
  before(async () => {
    engine = await makeEngine(name);
  });
  const decode = name === 'sharp' ? decodeByJimp : decodeBySharp;

  const open = async (source: Uint8Array | Raster, bounds: ImageLimits = limits) =>
    engine.open('data' in source ? await pngOf(source) : source, bounds);

  /** What the recipe makes of the picture, decoded; its size must be the one that the image has announced. */
  async function run(
    source: Uint8Array | Raster,
    recipe = (image: Image) => image,
    format: OutputFormat = 'png',
  ) {
    const image = recipe(await open(source));
    const raster = await decode((await image.encode(format)).body);
    expect(sizeOf(raster)).to.deep.equal(sizeOf(image));
    return raster;
  }

  return { name, decode, open, run };
}

/** A drawing of 480 × 320 pixels, as a JPEG. */
export const example = () => readFile(new URL('../../../../plugins/media/example.jpg', import.meta.url));

/** Rings that grow ever finer towards the corners, 300 × 200 pixels: what tells one kernel from another. */
export function rings(): Promise<Buffer> {
  const zone = paint(300, 200, (x, y) => {
    const wave = Math.cos((x * x + y * y) / 250);
    return [128 + 127 * wave, 128 - 90 * wave, 128 + 60 * Math.sin(x / 9)].map(Math.round);
  });
  return pngOf(zone);
}

/** Peak signal-to-noise ratio of two RGBA pictures of one size, in dB: 30 is visibly different, 40 hardly. */
export function psnr(one: Raster, other: Raster): number {
  if (one.data.length !== other.data.length) throw new Error('Pictures of different sizes.');
  let squares = 0;
  for (let i = 0; i < one.data.length; i++)
    squares += ((one.data[i] as number) - (other.data[i] as number)) ** 2;
  return 10 * Math.log10(255 ** 2 / (squares / one.data.length));
}
