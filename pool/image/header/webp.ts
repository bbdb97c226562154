import { readOrientation } from './exif.js';
import { hasText, type ImageHeader } from './header.js';

/**
 * Size from the canvas (`VP8X`) or the one bitstream; frames by counting `ANMF` chunks; orientation from `EXIF`. Own code, as
 * `probe.ts` says.
 */
export function readWebpHeader(view: DataView, maxFrames: number): ImageHeader | undefined {
  if (!hasText(view, 0, 'RIFF') || !hasText(view, 8, 'WEBP')) return undefined;
  let size = readSize(view, 12);
  if (!size) return undefined;
  const header: ImageHeader = { format: 'webp', ...size, frames: 1, orientation: 1, cmyk: false };
  if (!hasText(view, 12, 'VP8X')) return header;
  let frames = 0;
  let at = 12;
  while (at + 8 <= view.byteLength && frames <= maxFrames) {
    const length = view.getUint32(at + 4, true);
    if (hasText(view, at, 'ANMF')) frames++;
    if (hasText(view, at, 'EXIF')) header.orientation = readOrientation(view, at + 8, length);
    // A still picture must fill its canvas; a decoder that goes by the picture must not get a larger one.
    size = hasText(view, at, 'VP8X') ? undefined : readSize(view, at);
    if (size && (size.width !== header.width || size.height !== header.height)) return undefined;
    at += 8 + length + (length & 1);
  }
  header.frames = Math.max(1, frames);
  return header;
}

/** Pixels that the chunk at `at` declares; see RFC 9649, sections 2.7 and 3.4, and RFC 6386, section 9.1. */
function readSize(view: DataView, at: number): { width: number; height: number } | undefined {
  const data = at + 8;
  const room = view.byteLength - data;
  if (room >= 10 && hasText(view, at, 'VP8X')) {
    return { width: 1 + uint24(view, data + 4), height: 1 + uint24(view, data + 7) };
  }
  if (room >= 5 && hasText(view, at, 'VP8L') && view.getUint8(data) === 0x2f) {
    const bits = view.getUint32(data + 1, true);
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
  }
  if (room >= 10 && hasText(view, at, 'VP8 ') && hasText(view, data + 3, '\x9d\x01\x2a')) {
    return {
      width: view.getUint16(data + 6, true) & 0x3fff,
      height: view.getUint16(data + 8, true) & 0x3fff,
    };
  }
  return undefined;
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}
