import { inflateSync } from 'node:zlib';
import { hasText } from './header.js';

const interlaceAt = 28;

/**
 * The file up to its end chunk, for a decoder that stumbles over what follows. Throws where the pixels of an
 * interlaced picture unpack to more than its header says: pngjs inflates those without a bound, and 10 MB of zeros
 * packed well are 10 GB. Own code because no decoder that is at hand has such a bound.
 */
export function boundedPng(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packed: Uint8Array[] = [];
  let at = 8;
  while (at + 12 <= bytes.byteLength) {
    const length = view.getUint32(at);
    if (hasText(view, at + 4, 'IDAT')) packed.push(bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
    if (hasText(view, at - length - 8, 'IEND')) break;
  }
  if (view.getUint8(interlaceAt) !== 0) {
    inflateSync(Buffer.concat(packed), { maxOutputLength: interlacedBytes(view) });
  }
  return bytes.subarray(0, at);
}

/** The most that seven passes take: 8 bytes a pixel, each row with its filter byte, some rows empty. */
function interlacedBytes(view: DataView): number {
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  return width * height * 8 + height * 4 + 16;
}
