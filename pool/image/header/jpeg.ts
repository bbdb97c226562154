import { readOrientation } from './exif.js';
import { hasText, type ImageHeader, type Orientation } from './header.js';

const startOfScan = 0xda;
const endOfImage = 0xd9;
const app1 = 0xe1;

/**
 * Walks the markers up to the first scan. Bytes between segments are skipped, as the decoders do. Own code, as `probe.ts`
 * says.
 */
export function readJpegHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let frame: { width: number; height: number; components: number } | undefined;
  let orientation: Orientation | undefined;
  let at = 2;
  while (at + 4 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) {
      at++;
      continue;
    }
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === endOfImage) break;
    if (!hasLength(marker)) {
      at += 2;
      continue;
    }
    if (marker === startOfScan) return frame && toHeader(frame, orientation);
    const length = view.getUint16(at + 2);
    if (length < 2) return undefined;
    if (isFrame(marker)) {
      // A second frame is a trick to show one size here and another to a decoder.
      if (frame || length < 8 || at + 10 > view.byteLength) return undefined;
      frame = {
        height: view.getUint16(at + 5),
        width: view.getUint16(at + 7),
        components: view.getUint8(at + 9),
      };
    }
    if (marker === app1 && orientation === undefined && hasText(view, at + 4, 'Exif\0\0')) {
      orientation = readOrientation(view, at + 4, length - 2);
    }
    at += 2 + length;
  }
  return undefined;
}

function toHeader(
  frame: { width: number; height: number; components: number },
  orientation: Orientation = 1,
): ImageHeader {
  const { width, height, components } = frame;
  return { format: 'jpeg', width, height, frames: 1, orientation, cmyk: components === 4 };
}

function isFrame(marker: number): boolean {
  const table = marker === 0xc4 || marker === 0xc8 || marker === 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && !table;
}

function hasLength(marker: number): boolean {
  return marker !== 0x00 && marker !== 0x01 && !(marker >= 0xd0 && marker <= 0xd8);
}
