import decode, { init as startDecoder } from '@jsquash/webp/decode.js';
import encode, { init as startEncoder } from '@jsquash/webp/encode.js';
import { simd } from 'wasm-feature-detect';
import type { EncodeOptions } from '../engine.js';
import type { Raster } from '../raster.js';
import { asBytes, readCodec } from '../wasm-codec.js';

/** WebP for where there is no native codec: libwebp compiled to WebAssembly. */
export interface WebpCodec {
  /** RGBA of a still picture. Rejects for what is not one. */
  decode(bytes: Uint8Array): Promise<Raster>;
  encode(raster: Raster, options?: EncodeOptions): Promise<Uint8Array>;
}

/** The same settings as those of the native engine. */
const options = { quality: 80, method: 2 };

/** Starts the codec. After a fault within the module its memory is not to be trusted: it is started again. */
export async function createWebpCodec(): Promise<WebpCodec> {
  const decoder = await readCodec('@jsquash/webp/webp_dec.wasm');
  const encoder = await readCodec(`@jsquash/webp/webp_enc${(await simd()) ? '_simd' : ''}.wasm`);

  async function start(): Promise<void> {
    await startDecoder(decoder);
    await startEncoder(encoder);
  }

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Error && error.name === 'RuntimeError') await start();
      throw error;
    }
  }

  await start();
  return {
    decode: (bytes) =>
      guarded(async () => {
        // Its types ask for an ArrayBuffer and an ImageData; what it reads are bytes, and these three fields.
        const { data, width, height } = await decode(bytes as unknown as ArrayBuffer);
        return { data: asBytes(data), width, height, channels: 4, frames: 1 };
      }),
    encode: ({ data, width, height }, chosen) =>
      guarded(async () => {
        const picture = { data, width, height } as never;
        return new Uint8Array(await encode(picture, { ...options, ...chosen }));
      }),
  };
}
