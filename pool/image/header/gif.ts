import { hasText, type ImageHeader } from './header.js';

/** What a GIF's blocks begin with. */
export const extensionBlock = 0x21;
export const frameBlock = 0x2c;

/** Screens that old programs wrote whatever the picture, and libnsgif therefore does not believe. */
const usualScreens = new Set(['640x480', '640x512', '800x600', '1024x768', '1280x1024', '1600x1200']);

/**
 * Walks the blocks and counts frames. The size is that of the logical screen, grown where the first frame reaches
 * beyond it; where the screen is not to be believed it is that of the first frame alone. libvips decodes to the same size,
 * and the limits must hold for what is decoded. Own code, as `probe.ts` says.
 */
export function readGifHeader(view: DataView, maxFrames: number): ImageHeader | undefined {
  if (view.byteLength < 13 || !(hasText(view, 0, 'GIF87a') || hasText(view, 0, 'GIF89a'))) return undefined;
  let { width, height } = readScreen(view);
  let frames = 0;
  let at = 13 + tableBytes(view.getUint8(10));
  while (at < view.byteLength && frames <= maxFrames) {
    const block = view.getUint8(at);
    if (block === extensionBlock) {
      at = skipSubBlocks(view, at + 2);
      continue;
    }
    if (block !== frameBlock || at + 11 > view.byteLength) break;
    frames++;
    if (frames === 1) {
      width = Math.max(width, view.getUint16(at + 1, true) + view.getUint16(at + 5, true));
      height = Math.max(height, view.getUint16(at + 3, true) + view.getUint16(at + 7, true));
    }
    at = skipSubBlocks(view, at + 11 + tableBytes(view.getUint8(at + 9)));
  }
  if (frames === 0) return undefined;
  return { format: 'gif', width, height, frames, orientation: 1, cmyk: false };
}

/** Bytes of the colour table that these flags announce. */
export function tableBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0;
}

function skipSubBlocks(view: DataView, from: number): number {
  let at = from;
  while (at < view.byteLength) {
    const size = view.getUint8(at);
    if (size === 0) return at + 1;
    at += 1 + size;
  }
  return at;
}

function readScreen(view: DataView): { width: number; height: number } {
  const width = view.getUint16(6, true);
  const height = view.getUint16(8, true);
  const drawn = width > 0 && height > 0;
  const believed = drawn && width <= 2048 && height <= 2048 && !usualScreens.has(`${width}x${height}`);
  return believed ? { width, height } : { width: 0, height: 0 };
}
