import decode, { init } from '@jsquash/avif/decode.js';
import { checkSize, ImageError, type ImageLimits, type Size } from './engine.js';
import { encodePng } from './png/encode.js';
import { dropOpaqueAlpha, type Raster } from './raster.js';
import { asBytes, readCodec } from './wasm-codec.js';

/** Where an AVIF says how large its pictures are, all of them before any of their data. */
const headerBytes = 65_536;

/**
 * An AVIF as a PNG, for a preview of a helper's answer; nowhere else is one read. By libavif in WebAssembly, since sharp keeps the
 * loader of such files blocked: what a parser of hostile bytes can do is bounded by its own memory. Throws an `ImageError`.
 */
export async function avifToPng(bytes: Uint8Array, limits: ImageLimits): Promise<Uint8Array> {
  checkSize('image', { ...largestIn(bytes), frames: 1 }, limits);
  const { data, width, height } = await decodeFresh(bytes).catch((cause) => {
    throw new ImageError('bad_image', 'The image cannot be decoded: its data is broken or cut off.', {
      cause,
    });
  });
  const raster: Raster = { data: asBytes(data), width, height, channels: 4, frames: 1 };
  return encodePng(dropOpaqueAlpha(raster));
}

/** With a memory of its own, which goes with it: previews of such pictures are rare, and a fault leaves nothing behind. */
async function decodeFresh(bytes: Uint8Array) {
  await init(await readCodec('@jsquash/avif/avif_dec.wasm'));
  // Its types ask for an ArrayBuffer; what it reads are bytes.
  const decoded = await decode(bytes as unknown as ArrayBuffer);
  if (!decoded) throw new Error('No picture.');
  return decoded;
}

/** The sizes in boxes `ispe` (ISO/IEC 23008-12, 6.5.3), and of them the largest: libavif decodes none that has no such box. */
function largestIn(bytes: Uint8Array): Size {
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, headerBytes));
  const sizes: Size[] = [];
  for (
    let at = header.indexOf('ispe');
    at >= 0 && at + 16 <= header.length;
    at = header.indexOf('ispe', at + 4)
  ) {
    sizes.push({ width: header.readUInt32BE(at + 8), height: header.readUInt32BE(at + 12) });
  }
  const [largest] = sizes.sort((a, b) => b.width * b.height - a.width * a.height);
  if (!largest) throw new ImageError('bad_image', 'This is not an AVIF whose header can be read.');
  return largest;
}
