import { hasText } from './header.js';

/** The first frame of an animated WebP as a file of its own, and where it lies on the canvas. */
export interface StillFrame {
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
      return { bytes: wrap(frame), left: 2 * uint24(frame, 0), top: 2 * uint24(frame, 3) };
    }
    at += 8 + length + (length & 1);
  }
  return undefined;
}

/** A file around the frame's chunks. The extended header tells the decoder that there may be alpha. */
function wrap(frame: Uint8Array): Uint8Array {
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
