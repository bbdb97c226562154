import type { Position } from '../engine.js';
import type { Place } from '../text/ink.js';

export interface Size {
  /** Pixels. */
  width: number;
  height: number;
}

/** The part of a picture inside its margins, in whole pixels. */
export interface Room extends Size {
  left: number;
  top: number;
}

/** Of each side so much is left to the mark at least, however large a margin was asked for. */
const leastRoom = 0.1;

/** Distance of a text's ink from the edges: half the font size, but no more than a twentieth of the shorter side. */
export function textMargin(size: Size, fontSize: number): number {
  return Math.min(Math.floor(fontSize / 2), logoMargin(size));
}

/** Distance of a logo from the edges: a twentieth of the shorter side. */
export function logoMargin({ width, height }: Size): number {
  return Math.floor(Math.min(width, height) / 20);
}

/** The room inside margins of so many pixels, at least one pixel wide and high. */
export function roomOf({ width, height }: Size, margin: number): Room {
  const left = Math.min(margin, Math.floor((width * (1 - leastRoom)) / 2));
  const top = Math.min(margin, Math.floor((height * (1 - leastRoom)) / 2));
  return { left, top, width: width - 2 * left, height: height - 2 * top };
}

/** The side that a position is at, or neither. */
export function sideOf(position: Position): 'left' | 'center' | 'right' {
  if (position === 'center') return position;
  return position.endsWith('left') ? 'left' : 'right';
}

/** Where an overlay lies at its position in the room. */
export function placeIn(room: Room, overlay: Size, position: Position): Place {
  const across = room.width - overlay.width;
  const down = room.height - overlay.height;
  if (position === 'center') {
    return { left: room.left + Math.floor(across / 2), top: room.top + Math.floor(down / 2) };
  }
  return {
    left: sideOf(position) === 'left' ? room.left : room.left + across,
    top: position.startsWith('top') ? room.top : room.top + down,
  };
}
