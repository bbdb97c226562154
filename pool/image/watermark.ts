import { inPixels, type Size } from './engine.js';
import {
  type Area,
  areaWithin,
  type LogoMark,
  logoMargin,
  logoOverlay,
  type Mark,
  type Placing,
  placeIn,
  sideOf,
  type TextMark,
  textMargin,
  textOverlay,
} from './mark.js';
import { blendOverlay, type Overlay, type Point, type Raster } from './raster.js';
import { inkColors } from './text/contrast.js';
import { inkFor } from './text/ink.js';
import type { LoadText, TextRenderer } from './text/overlay.js';

/** An overlay with the area that it was made for. */
interface Drawn {
  overlay: Overlay;
  area: Area;
}

/** Draws the mark on every frame, in place. `text` is asked for where there is a text. */
export async function drawMark(raster: Raster, mark: Mark, text: LoadText): Promise<void> {
  const made = mark.text
    ? drawText(raster, mark.text, mark, await text())
    : drawLogo(raster, await mark.logo.pixels(), mark.logo, mark);
  if (!made) return;
  const { overlay, places } = placesFor(raster, made, mark);
  const chosen = mark.text?.color === 'auto' ? inkFor(raster, overlay, places, mark.opacity) : overlay;
  for (const place of places)
    blendOverlay(raster, chosen, place, { opacity: mark.opacity, premultiplied: true });
}

/** The font size, in pixels, of text on a picture where none is asked for: a twentieth of the shorter side, at least 12. */
export function autoFontSize({ width, height }: Size): number {
  return Math.max(12, Math.round(Math.min(width, height) / 20));
}

/** The text as large as was asked for, or as its area allows. Undefined where there is no ink. */
export function drawText(
  picture: Size,
  text: TextMark,
  placing: Placing,
  renderer: TextRenderer,
): Drawn | undefined {
  const fontSize = text.fontSize === 'auto' ? autoFontSize(picture) : text.fontSize;
  const color = text.color === 'auto' ? inkColors.black : text.color;
  const align = placing.tile ? 'center' : sideOf(placing.position);
  const area = areaFor(picture, placing, textMargin(picture, fontSize));
  const overlay = textOverlay({ ...text, fontSize, color, align }, area, placing.degrees, renderer);
  return overlay && { overlay, area };
}

function drawLogo(picture: Size, logo: Raster, { scale }: LogoMark, placing: Placing): Drawn {
  const area = areaFor(picture, placing, logoMargin(picture));
  const overlay = logoOverlay(logo, picture.width * scale, area, placing.degrees);
  return { overlay, area };
}

/** Tiles go to the edges and beyond, and have all of the picture. */
function areaFor(picture: Size, { margin, tile }: Placing, auto: number): Area {
  if (tile) return { left: 0, top: 0, width: picture.width, height: picture.height };
  return areaWithin(picture, margin === 'auto' ? auto : inPixels(margin, shorterOf(picture)));
}

/** Where the overlay goes. */
export function placesFor(picture: Size, { overlay, area }: Drawn, { position, tile }: Placing): Tiling {
  if (!tile) return { overlay, places: [placeIn(area, overlay, position)] };
  const { spacing } = tile;
  const apart = spacing === 'auto' ? autoSpacing(picture, overlay) : inPixels(spacing, shorterOf(picture));
  return tileOver(picture, overlay, apart);
}

function shorterOf({ width, height }: Size): number {
  return Math.min(width, height);
}

/** Tiles that come closer than this are put together in a larger one first, so that the work goes with the picture and not with their number. */
const sheetSide = 256;

/** What covers a picture: an overlay and where it lies, with some of it outside. */
export interface Tiling {
  overlay: Overlay;
  places: Point[];
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

/** The default in pixels between tiles: half a tile's longer side, at least a twentieth of the picture's shorter one. */
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
function placesOf(picture: Size, tile: Size, { across, down, shift, left, top }: Grid): Point[] {
  const places: Point[] = [];
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
