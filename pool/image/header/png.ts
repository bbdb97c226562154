import { readOrientation } from './exif.js';
import { hasText, type ImageHeader } from './header.js';

const signature = '\x89PNG\r\n\x1a\n';

/**
 * Size from IHDR, orientation from an eXIf chunk before the pixels. An APNG counts as its still first picture. Own code, as
 * `probe.ts` says.
 */
export function readPngHeader(view: DataView): ImageHeader | undefined {
  if (!hasText(view, 0, signature) || view.byteLength < 33 || !hasText(view, 12, 'IHDR')) return undefined;
  const header: ImageHeader = {
    format: 'png',
    width: view.getUint32(16),
    height: view.getUint32(20),
    frames: 1,
    orientation: 1,
    cmyk: false,
  };
  let at = 8;
  while (at + 12 <= view.byteLength) {
    const length = view.getUint32(at);
    if (hasText(view, at + 4, 'IDAT')) return header;
    if (hasText(view, at + 4, 'eXIf')) header.orientation = readOrientation(view, at + 8, length);
    at += 12 + length;
  }
  return undefined;
}
