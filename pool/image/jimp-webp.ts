import decode, { init as startDecoder } from '@jsquash/webp/decode.js';
import encode, { init as startEncoder } from '@jsquash/webp/encode.js';
import { simd } from 'wasm-feature-detect';
import type { EncodeOptions } from './engine.js';
import { hasText } from './header.js';
import type { Raster } from './raster.js';
import { asBytes, readCodec } from './wasm-codec.js';

/** The first frame of an animated WebP as a file of its own, and where it lies on the canvas. */
interface StillFrame {
  bytes: Uint8Array;
  /** Pixels. */
  left: number;
  top: number;
}

const frameHeaderBytes = 16;
const alphaFlag = 0x10;

/**
 * Undefined where the picture is not animated. The container is that of RFC 9649, section 2.7. Own code because the WebAssembly
 * codec decodes still pictures only.
 */
export function firstWebpFrame(bytes: Uint8Array): StillFrame | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!hasText(view, 12, 'VP8X')) return undefined;
  let at = 12;
  while (at + 8 + frameHeaderBytes <= bytes.byteLength) {
    const length = view.getUint32(at + 4, true);
    if (hasText(view, at, 'ANMF')) {
      const frame = bytes.subarray(at + 8, at + 8 + length);
      return { bytes: wrapFrame(frame), left: 2 * uint24(frame, 0), top: 2 * uint24(frame, 3) };
    }
    at += 8 + length + (length & 1);
  }
  return undefined;
}

/** A file around the frame's chunks. The extended header announces alpha. */
function wrapFrame(frame: Uint8Array): Uint8Array {
  const chunks = frame.subarray(frameHeaderBytes);
  const file = Buffer.alloc(30 + chunks.length);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WEBPVP8X', 8, 'latin1');
  file.writeUInt32LE(10, 16);
  file[20] = alphaFlag;
  file.set(frame.subarray(6, 12), 24);
  file.set(chunks, 30);
  return file;
}

function uint24(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
}

/** WebP for where there is no native codec: libwebp compiled to WebAssembly. */
export interface WebpCodec {
  /** RGBA of a still picture. Rejects for what is not one. */
  decode(bytes: Uint8Array): Promise<Raster>;
  encode(raster: Raster, options?: EncodeOptions): Promise<Uint8Array>;
}

/** The same settings as those of the native engine. */
const webpOptions = { quality: 80, method: 2 };

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
        return new Uint8Array(await encode(picture, { ...webpOptions, ...chosen }));
      }),
  };
}
