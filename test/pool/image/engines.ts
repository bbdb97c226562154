import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import decodeWebp, { init } from '@jsquash/webp/decode.js';
import { Jimp } from 'jimp';
import sharp from 'sharp';
import type { ImageEngine } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { loadEngine } from '../../../pool/image/select.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';

/** An engine with the shipped font. */
export async function makeEngine(name: ImageEngine['name']): Promise<ImageEngine> {
  const { engine } = await loadEngine(name, { fonts: createFontSet, timeoutSeconds: 10 });
  return engine;
}

/** Decodes to RGBA. Each engine's results are read by the other's library. */
export type Decode = (bytes: Uint8Array) => Promise<Raster>;

export const decodeBySharp: Decode = async (bytes) => {
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: 4, frames: 1 };
};

let webpReady: Promise<unknown> | undefined;

export const decodeByJimp: Decode = async (bytes) => {
  const { data, width, height } = isWebp(bytes) ? await webp(bytes) : await jimp(bytes);
  return { data: new Uint8Array(data), width, height, channels: 4, frames: 1 };
};

async function jimp(bytes: Uint8Array) {
  const { bitmap } = await Jimp.fromBuffer(Buffer.from(bytes));
  return bitmap;
}

async function webp(bytes: Uint8Array) {
  const path = createRequire(import.meta.url).resolve('@jsquash/webp/codec/dec/webp_dec.wasm');
  webpReady ??= readFile(path).then((wasmBinary) => init({ wasmBinary } as object));
  await webpReady;
  return decodeWebp(bytes as unknown as ArrayBuffer);
}

function isWebp(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(8, 12)).toString('latin1') === 'WEBP';
}
