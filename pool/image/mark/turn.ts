import { directionOf, rotatedSize, rotateMultiplied } from '../geometry/rotate.js';
import { turnRaster } from '../geometry/turn.js';
import type { Overlay } from '../text/overlay.js';
import type { Size } from './place.js';

/** The EXIF orientations whose pictures are brought upright by these turns. */
const orientations: Record<number, 6 | 3 | 8> = { 90: 6, 180: 3, 270: 8 };

/** So much of a pixel a bound may be missed by: what is right of it comes of sines that are not quite 0. */
const slack = 1e-6;

/** An overlay turned clockwise around its middle, in a box that holds its corners. Turns by quarters change no pixel. */
export function turnOverlay(overlay: Overlay, degrees: number): Overlay {
  if (degrees === 0) return overlay;
  const orientation = orientations[degrees];
  if (orientation === undefined)
    return rotateMultiplied(overlay, { degrees, ...rotatedSize(overlay, degrees) });
  const { data, width, height } = turnRaster({ ...overlay, channels: 4, frames: 1 }, orientation);
  return { data, width, height };
}

/** The widest and the highest that something may be which, turned, lies in the room. */
export function boundsBeforeTurn(room: Size, degrees: number): Size {
  const { cos, sin } = steepness(degrees);
  return {
    width: wholePixels(Math.min(room.width / cos, room.height / sin)),
    height: wholePixels(Math.min(room.width / sin, room.height / cos)),
  };
}

/** The largest box of this one's proportions, and no larger than this one, that lies in the room when it is turned. */
export function fitTurned(box: Size, room: Size, degrees: number): Size {
  const { cos, sin } = steepness(degrees);
  const across = room.width / (box.width * cos + box.height * sin);
  const down = room.height / (box.width * sin + box.height * cos);
  const scale = Math.min(1, across, down);
  return { width: wholePixels(box.width * scale), height: wholePixels(box.height * scale) };
}

/**
 * The box of the largest area that lies in the room when it is turned: half the shorter side bounds it where the room is
 * long, and its four corners touch all sides where it is not.
 */
export function largestTurned({ width, height }: Size, degrees: number): Size {
  const { cos, sin } = steepness(degrees);
  const shorter = Math.min(width, height);
  const longer = Math.max(width, height);
  const both = cos * cos - sin * sin;
  if (shorter <= 2 * sin * cos * longer || Math.abs(both) < slack) {
    const [along, other] = width >= height ? [sin, cos] : [cos, sin];
    return { width: wholePixels(shorter / 2 / along), height: wholePixels(shorter / 2 / other) };
  }
  return {
    width: wholePixels((width * cos - height * sin) / both),
    height: wholePixels((height * cos - width * sin) / both),
  };
}

function steepness(degrees: number): { cos: number; sin: number } {
  const { cos, sin } = directionOf(degrees);
  return { cos: Math.abs(cos), sin: Math.abs(sin) };
}

function wholePixels(length: number): number {
  return Math.max(1, Math.floor(length + slack));
}
