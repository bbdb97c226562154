import type { SourceImageFormat } from '../engine.js';

/** Formats that are taken in. */
export type SourceFormat = 'jpeg' | 'png' | 'webp' | 'gif';

/** The name that answers use for a format. */
export function productFormat(format: SourceFormat): SourceImageFormat {
  return format === 'jpeg' ? 'jpg' : format;
}

/** EXIF orientation: 1 is upright; 2 to 8 name the flip and turn that bring the picture upright. */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** What a file says of itself, read before any decoder runs. */
export interface ImageHeader {
  format: SourceFormat;
  /** Pixels as stored, before `orientation` is applied. */
  width: number;
  /** Pixels of one frame as stored. */
  height: number;
  /** Frames of an animation, 1 for a still picture. Counting stops one past the most that the caller accepts. */
  frames: number;
  orientation: Orientation;
  /** Whether the colours are four inks, which need another way to sRGB than all others. */
  cmyk: boolean;
}

/** Reads one format's header; undefined where the bytes are not a picture of it. Never throws, never copies. */
export type HeaderReader = (view: DataView, maxFrames: number) => ImageHeader | undefined;

/** Whether the ASCII text stands at this place. */
export function hasText(view: DataView, at: number, text: string): boolean {
  if (at + text.length > view.byteLength) return false;
  for (let i = 0; i < text.length; i++) {
    if (view.getUint8(at + i) !== text.charCodeAt(i)) return false;
  }
  return true;
}
