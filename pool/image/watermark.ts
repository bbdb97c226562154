import { inPixels } from './engine.js';
import {
  type Area,
  areaWithin,
  type LogoMark,
  logoMargin,
  logoOverlay,
  type Mark,
  type Placing,
  placeIn,
  type Size,
  sideOf,
  type TextMark,
  textMargin,
  textOverlay,
} from './mark.js';
import type { Raster } from './raster.js';
import { inkColors } from './text/contrast.js';
import { inkFor, type Place } from './text/ink.js';
import type { LoadText, Overlay, TextRenderer } from './text/overlay.js';

/** The font size, in pixels, of text on a picture where none is asked for: a twentieth of the shorter side, at least 12. */
export function autoFontSize({ width, height }: { width: number; height: number }): number {
  return Math.max(12, Math.round(Math.min(width, height) / 20));
}

/** Tiles that come closer than this are put together in a larger one first, so that the work goes with the picture and not with their number. */
const sheetSide = 256;

/** What covers a picture: an overlay and where it lies, with some of it outside. */
export interface Tiling {
  overlay: Overlay;
  places: Place[];
}

/** A grid of tiles in which every other row is moved by half a step. */
interface Grid {
  /** From one tile to the next, in pixels. */
  across: number;
  down: number;
  /** How far the odd rows are moved. */
  shift: number;
  /** Where a tile of an even row lies. */
  left: number;
  top: number;
}

/** Pixels between tiles where nobody says how many: half a tile's longer side, at least a twentieth of the picture's shorter one. */
export function autoSpacing(picture: Size, tile: Size): number {
  const least = Math.min(picture.width, picture.height) / 20;
  return Math.max(1, Math.round(Math.max(least, Math.max(tile.width, tile.height) / 2)));
}

/**
 * Covers the picture, edges too, with copies of the tile, so many pixels apart; one of them lies in its middle. The tiles and
 * what is between them are together about as large as the picture, whatever their size.
 */
export function tileOver(picture: Size, tile: Overlay, spacing: number): Tiling {
  const across = tile.width + spacing;
  const down = tile.height + spacing;
  const grid: Grid = {
    across,
    down,
    shift: Math.floor(across / 2),
    left: Math.floor((picture.width - tile.width) / 2),
    top: Math.floor((picture.height - tile.height) / 2),
  };
  const columns = Math.ceil(sheetSide / across);
  const pairs = Math.ceil(sheetSide / (2 * down));
  const sheetArea = columns * across * (2 * pairs * down);
  const isWorth = columns * pairs > 1 && sheetArea <= picture.width * picture.height;
  if (!isWorth) return { overlay: tile, places: placesOf(picture, tile, grid) };
  const overlay = drawSheet(tile, grid, columns, 2 * pairs);
  const { width, height } = overlay;
  const sheets: Grid = { ...grid, across: width, down: height, shift: 0 };
  return { overlay, places: placesOf(picture, overlay, sheets) };
}

/** Where a tile lies with any part of it in the picture. */
function placesOf(picture: Size, tile: Size, { across, down, shift, left, top }: Grid): Place[] {
  const places: Place[] = [];
  for (let row = -Math.floor((top + tile.height - 1) / down); ; row++) {
    const y = top + row * down;
    if (y >= picture.height) return places;
    const start = row % 2 === 0 ? left : left - shift;
    const column = -Math.floor((start + tile.width - 1) / across);
    for (let x = start + column * across; x < picture.width; x += across) places.push({ left: x, top: y });
  }
}

/** Rows and columns of the grid in one overlay that goes on where it ends; an even number of rows. */
function drawSheet(tile: Overlay, { across, down, shift }: Grid, columns: number, rows: number): Overlay {
  const width = columns * across;
  const height = rows * down;
  const data = new Uint8Array(width * height * 4);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      // To the left, as in the grid; what would begin before the sheet comes in again at its end.
      const left = (column * across + (row % 2 === 0 ? 0 : width - shift)) % width;
      const before = Math.min(tile.width, width - left);
      for (let y = 0; y < tile.height; y++) {
        const from = y * tile.width * 4;
        const line = (row * down + y) * width;
        const middle = from + before * 4;
        data.set(tile.data.subarray(from, middle), (line + left) * 4);
        data.set(tile.data.subarray(middle, from + tile.width * 4), line * 4);
      }
    }
  }
  return { data, width, height };
}

/**
 * Draws the overlay over every frame of the raster, in place, with its top left corner at (`left`, `top`); what lies outside is
 * cut off. Only its own rectangle is touched, so the cost goes with the overlay and not with the picture.
 * `opacity` 0 to 1. Porter-Duff "over" on 8 bit values as they are, as browsers blend. Own code so that both engines give the
 * same pixels, and because sharp's composite goes over the whole picture.
 */
export function blendOverlay(
  raster: Raster,
  overlay: Overlay,
  left: number,
  top: number,
  opacity: number,
): void {
  if (opacity === 0) return;
  const blendRow = raster.channels === 3 ? blendOpaqueRow : blendAlphaRow;
  const first = Math.max(0, -left);
  const count = Math.min(overlay.width, raster.width - left) - first;
  const end = Math.min(overlay.height, raster.height - top);
  for (let frame = 0; frame < raster.frames; frame++) {
    for (let row = Math.max(0, -top); row < end; row++) {
      const at = ((frame * raster.height + top + row) * raster.width + left + first) * raster.channels;
      blendRow(raster.data, at, overlay.data, (row * overlay.width + first) * 4, count, opacity);
    }
  }
}

/** The overlay is premultiplied: over an opaque pixel that is one multiplication and one addition a channel. */
function blendOpaqueRow(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  from: number,
  count: number,
  opacity: number,
): void {
  for (let i = 0, t = at, s = from; i < count; i++, t += 3, s += 4) {
    const alpha = source[s + 3] as number;
    if (alpha === 0) continue;
    const rest = 1 - (alpha / 255) * opacity;
    target[t] = (source[s] as number) * opacity + (target[t] as number) * rest + 0.5;
    target[t + 1] = (source[s + 1] as number) * opacity + (target[t + 1] as number) * rest + 0.5;
    target[t + 2] = (source[s + 2] as number) * opacity + (target[t + 2] as number) * rest + 0.5;
  }
}

function blendAlphaRow(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  from: number,
  count: number,
  opacity: number,
): void {
  for (let i = 0, t = at, s = from; i < count; i++, t += 4, s += 4) {
    const over = ((source[s + 3] as number) / 255) * opacity;
    if (over === 0) continue;
    const under = ((target[t + 3] as number) / 255) * (1 - over);
    const alpha = over + under;
    for (let c = 0; c < 3; c++) {
      const mixed = (source[s + c] as number) * opacity + (target[t + c] as number) * under;
      target[t + c] = Math.min(255, mixed / alpha + 0.5);
    }
    target[t + 3] = alpha * 255 + 0.5;
  }
}

/** An overlay with the room that it was made for. */
interface Drawn {
  overlay: Overlay;
  room: Area;
}

/** Draws the mark on every frame, in place. `text` is asked for where there is a text. */
export async function drawMark(raster: Raster, mark: Mark, text: LoadText): Promise<void> {
  const made = mark.text
    ? drawText(raster, mark.text, mark, await text())
    : drawLogo(raster, await mark.logo.pixels(), mark.logo, mark);
  if (!made) return;
  const { overlay, places } = placesFor(raster, made, mark);
  const chosen = mark.text?.color === 'auto' ? inkFor(raster, overlay, places, mark.opacity) : overlay;
  for (const { left, top } of places) blendOverlay(raster, chosen, left, top, mark.opacity);
}

/** The text as large as was asked for, or as its room lets it be. Undefined where there is no ink. */
export function drawText(
  picture: Size,
  text: TextMark,
  placing: Placing,
  renderer: TextRenderer,
): Drawn | undefined {
  const fontSize = text.fontSize === 'auto' ? autoFontSize(picture) : text.fontSize;
  const color = text.color === 'auto' ? inkColors.black : text.color;
  const align = placing.tile ? 'center' : sideOf(placing.position);
  const room = areaFor(picture, placing, textMargin(picture, fontSize));
  const overlay = textOverlay({ ...text, fontSize, color, align }, room, placing.degrees, renderer);
  return overlay && { overlay, room };
}

function drawLogo(picture: Size, logo: Raster, { scale }: LogoMark, placing: Placing): Drawn {
  const room = areaFor(picture, placing, logoMargin(picture));
  const overlay = logoOverlay(logo, picture.width * scale, room, placing.degrees);
  return { overlay, room };
}

/** Tiles go to the edges and beyond, and have all of the picture. */
function areaFor(picture: Size, { margin, tile }: Placing, auto: number): Area {
  if (tile) return { left: 0, top: 0, width: picture.width, height: picture.height };
  return areaWithin(picture, margin === 'auto' ? auto : inPixels(margin, shorterOf(picture)));
}

/** Where the overlay goes. */
export function placesFor(picture: Size, { overlay, room }: Drawn, { position, tile }: Placing): Tiling {
  if (!tile) return { overlay, places: [placeIn(room, overlay, position)] };
  const { spacing } = tile;
  const apart = spacing === 'auto' ? autoSpacing(picture, overlay) : inPixels(spacing, shorterOf(picture));
  return tileOver(picture, overlay, apart);
}

function shorterOf({ width, height }: Size): number {
  return Math.min(width, height);
}
