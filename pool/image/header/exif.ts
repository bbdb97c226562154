import { hasText, type Orientation } from './header.js';

const orientationTag = 0x0112;
const short = 3;
const long = 4;

/**
 * The orientation in an EXIF block (a TIFF header and its first directory) that takes `length` bytes from `at`,
 * with or without the `Exif\0\0` that JPEG puts before it. 1 where there is none or the block is broken: a camera's
 * odd metadata is no reason to refuse its picture. Own code because both engines turn by this one reading, so that they
 * cannot differ, and because an EXIF package reads hundreds of tags of hostile bytes for this one.
 */
export function readOrientation(view: DataView, at: number, length: number): Orientation {
  const start = hasText(view, at, 'Exif\0\0') ? at + 6 : at;
  const end = Math.min(at + length, view.byteLength);
  if (start + 8 > end) return 1;
  const little = hasText(view, start, 'II*\0');
  if (!little && !hasText(view, start, 'MM\0*')) return 1;
  const directory = start + view.getUint32(start + 4, little);
  if (directory + 2 > end) return 1;
  const entries = view.getUint16(directory, little);
  for (let i = 0; i < entries; i++) {
    const entry = directory + 2 + i * 12;
    if (entry + 12 > end) return 1;
    if (view.getUint16(entry, little) !== orientationTag) continue;
    return toOrientation(readValue(view, entry, little));
  }
  return 1;
}

function readValue(view: DataView, entry: number, little: boolean): number {
  const type = view.getUint16(entry + 2, little);
  if (type === short) return view.getUint16(entry + 8, little);
  if (type === long) return view.getUint32(entry + 8, little);
  return 1;
}

function toOrientation(value: number): Orientation {
  return value >= 1 && value <= 8 ? (value as Orientation) : 1;
}
