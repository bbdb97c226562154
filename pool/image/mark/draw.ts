import { inPixels } from '../measure.js';
import type { Raster } from '../raster.js';
import { autoFontSize } from '../text/auto-size.js';
import { inkFor } from '../text/ink.js';
import { inkColors } from '../text/luminance.js';
import type { LoadText, Overlay, TextRenderer } from '../text/overlay.js';
import { blendOverlay } from './blend.js';
import { logoOverlay } from './logo-overlay.js';
import type { LogoMark, Mark, Placing, TextMark } from './mark.js';
import { logoMargin, placeIn, type Room, roomOf, type Size, sideOf, textMargin } from './place.js';
import { textOverlay } from './text-overlay.js';
import { autoSpacing, type Tiling, tileOver } from './tile.js';

/** An overlay with the room that it was made for. */
export interface Made {
  overlay: Overlay;
  room: Room;
}

/** Draws the mark on every frame, in place. `text` is asked for where there is a text. */
export async function drawMark(raster: Raster, mark: Mark, text: LoadText): Promise<void> {
  const made = mark.text
    ? madeOfText(raster, mark.text, mark, await text())
    : madeOfLogo(raster, await mark.logo.pixels(), mark.logo, mark);
  if (!made) return;
  const { overlay, places } = laid(raster, made, mark);
  const chosen = mark.text?.color === 'auto' ? inkFor(raster, overlay, places, mark.opacity) : overlay;
  for (const { left, top } of places) blendOverlay(raster, chosen, left, top, mark.opacity);
}

/** The text as large as was asked for, or as its room lets it be. Undefined where there is no ink. */
export function madeOfText(
  picture: Size,
  text: TextMark,
  placing: Placing,
  renderer: TextRenderer,
): Made | undefined {
  const fontSize = text.fontSize === 'auto' ? autoFontSize(picture) : text.fontSize;
  const color = text.color === 'auto' ? inkColors.black : text.color;
  const align = placing.tile ? 'center' : sideOf(placing.position);
  const room = roomFor(picture, placing, textMargin(picture, fontSize));
  const overlay = textOverlay({ ...text, fontSize, color, align }, room, placing.degrees, renderer);
  return overlay && { overlay, room };
}

function madeOfLogo(picture: Size, logo: Raster, { scale }: LogoMark, placing: Placing): Made {
  const room = roomFor(picture, placing, logoMargin(picture));
  const overlay = logoOverlay(logo, picture.width * scale, room, placing.degrees);
  return { overlay, room };
}

/** Tiles go to the edges and beyond, and have all of the picture. */
function roomFor(picture: Size, { margin, tile }: Placing, auto: number): Room {
  if (tile) return { left: 0, top: 0, width: picture.width, height: picture.height };
  return roomOf(picture, margin === 'auto' ? auto : inPixels(margin, shorterOf(picture)));
}

/** Where the overlay goes. */
export function laid(picture: Size, { overlay, room }: Made, { position, tile }: Placing): Tiling {
  if (!tile) return { overlay, places: [placeIn(room, overlay, position)] };
  const { spacing } = tile;
  const apart = spacing === 'auto' ? autoSpacing(picture, overlay) : inPixels(spacing, shorterOf(picture));
  return tileOver(picture, overlay, apart);
}

function shorterOf({ width, height }: Size): number {
  return Math.min(width, height);
}
