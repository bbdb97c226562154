import {
  inPixels,
  type MarkOptions,
  type Measure,
  type Position,
  type Size,
  type WatermarkOptions,
} from './engine.js';
import { blendOverlay, type Overlay, type Point, type Raster, type Rectangle, withAlpha } from './raster.js';
import { resampleRaster, shrinkRaster } from './resize.js';
import { directionOf, rotateOverlay, slack } from './rotate.js';
import { inkColors, inkFor } from './text/ink.js';
import type { LoadText, TextRenderer, TextStyle } from './text/overlay.js';

/** Where a mark goes, and how; every option has its value. */
export interface Placing extends Required<Omit<MarkOptions, 'rotate' | 'tile'>> {
  /** Clockwise, from 0 up to 360. */
  degrees: number;
  /** Covers the picture, in place of one mark at its position. */
  tile?: { spacing: Measure | 'auto' } | undefined;
}

/** A text to be drawn. */
export interface TextMark extends Pick<WatermarkOptions, 'text' | 'outline' | 'wrap'> {
  fontSize: number | 'auto';
  color: string;
}

/** A picture to be laid, of which the pixels are drawn when they are asked for. */
interface LogoMark {
  pixels: () => Promise<Raster>;
  /** Its width as a fraction of the picture's. */
  scale: number;
}

/** A mark as it is recorded: validated, with its defaults. */
export type Mark = Placing & ({ text: TextMark; logo?: undefined } | { logo: LogoMark; text?: undefined });

/** Draws the mark on every frame, in place. `text` is asked for where there is a text. */
export async function drawMark(raster: Raster, mark: Mark, text: LoadText): Promise<void> {
  const made = mark.text
    ? drawText(raster, mark.text, mark, await text())
    : drawLogo(raster, await mark.logo.pixels(), mark.logo, mark);
  if (!made.overlay) return;
  const { opacity } = mark;
  const { overlay, places } = placesFor(raster, made.overlay, made.area, mark);
  const chosen = mark.text?.color === 'auto' ? inkFor(raster, overlay, places, opacity) : overlay;
  for (const place of places) blendOverlay(raster, chosen, place, { opacity, premultiplied: true });
}

/** The font size where none is asked for: a twentieth of the shorter side, at least 12. */
export function autoFontSize({ width, height }: Size): number {
  return Math.max(12, Math.round(Math.min(width, height) / 20));
}

/** The text as large as was asked for, or as its area allows; no overlay where there is no ink. */
function drawText(picture: Size, text: TextMark, placing: Placing, renderer: TextRenderer) {
  const fontSize = text.fontSize === 'auto' ? autoFontSize(picture) : text.fontSize;
  const color = text.color === 'auto' ? inkColors.black : text.color;
  const align = placing.tile ? 'center' : sideOf(placing.position);
  const area = areaFor(picture, placing, Math.floor(fontSize / 2));
  const overlay = textOverlay({ ...text, fontSize, color, align }, area, placing.degrees, renderer);
  return { overlay, area };
}

function drawLogo(picture: Size, logo: Raster, { scale }: LogoMark, placing: Placing) {
  const area = areaFor(picture, placing);
  return { overlay: logoOverlay(logo, picture.width * scale, area, placing.degrees), area };
}

/** Of each side so much is left to the mark at least, however large a margin was asked for. */
const leastArea = 0.1;

/**
 * The part of a picture inside its margins, at least a pixel wide and high: by default a twentieth of the shorter side,
 * and `mostAuto` pixels at most. Tiles go to the edges and beyond.
 */
function areaFor({ width, height }: Size, { margin, tile }: Placing, mostAuto = Infinity): Rectangle {
  if (tile) return { left: 0, top: 0, width, height };
  const shorter = Math.min(width, height);
  const wanted = margin === 'auto' ? Math.min(mostAuto, Math.floor(shorter / 20)) : inPixels(margin, shorter);
  const left = Math.min(wanted, Math.floor((width * (1 - leastArea)) / 2));
  const top = Math.min(wanted, Math.floor((height * (1 - leastArea)) / 2));
  return { left, top, width: width - 2 * left, height: height - 2 * top };
}

function placesFor(picture: Size, overlay: Overlay, area: Rectangle, { position, tile }: Placing): Tiling {
  if (!tile) return { overlay, places: [placeIn(area, overlay, position)] };
  const { spacing } = tile;
  const shorter = Math.min(picture.width, picture.height);
  const apart = spacing === 'auto' ? autoSpacing(picture, overlay) : inPixels(spacing, shorter);
  return tileOver(picture, overlay, apart);
}

/** Tiles closer than this are put together in a larger one first, so that work grows with the picture alone. */
const sheetSide = 256;

/** What covers a picture: an overlay and where it lies, with some of it outside. */
export interface Tiling {
  overlay: Overlay;
  places: Point[];
}

/** Tiles so many pixels from one to the next, odd rows moved by a `shift`; a tile of an even row lies here. */
interface Grid extends Point {
  across: number;
  down: number;
  shift: number;
}

/** The default between tiles: half a tile's longer side, at least a twentieth of the picture's shorter one. */
export function autoSpacing(picture: Size, tile: Size): number {
  const least = Math.min(picture.width, picture.height) / 20;
  return Math.max(1, Math.round(Math.max(least, Math.max(tile.width, tile.height) / 2)));
}

/** Covers the picture, edges too, with copies of the tile, so many pixels apart; one of them lies in its middle. */
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

/** The side that a position is at, or neither. */
function sideOf(position: Position): 'left' | 'center' | 'right' {
  if (position === 'center') return position;
  return position.endsWith('left') ? 'left' : 'right';
}

/** Where an overlay lies at its position in the area. */
function placeIn(area: Rectangle, overlay: Size, position: Position): Point {
  const across = area.width - overlay.width;
  const down = area.height - overlay.height;
  if (position === 'center') {
    return { left: area.left + Math.floor(across / 2), top: area.top + Math.floor(down / 2) };
  }
  return {
    left: sideOf(position) === 'left' ? area.left : area.left + across,
    top: position.startsWith('top') ? area.top : area.top + down,
  };
}

/** The widest and the highest that something may be which, rotated, lies in the area. */
export function boundsBeforeRotation(area: Size, degrees: number): Size {
  const { cos, sin } = steepness(degrees);
  return {
    width: wholePixels(Math.min(area.width / cos, area.height / sin)),
    height: wholePixels(Math.min(area.width / sin, area.height / cos)),
  };
}

/** The largest box of this one's proportions, and no larger than this one, that lies in the area when it is rotated. */
export function fitRotated(box: Size, area: Size, degrees: number): Size {
  const { cos, sin } = steepness(degrees);
  const across = area.width / (box.width * cos + box.height * sin);
  const down = area.height / (box.width * sin + box.height * cos);
  const scale = Math.min(1, across, down);
  return { width: wholePixels(box.width * scale), height: wholePixels(box.height * scale) };
}

/** The largest box that lies in the area when it is rotated: bounded by half the shorter side, or by its corners. */
export function largestRotated({ width, height }: Size, degrees: number): Size {
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

/** Pixels on a side of the drawing that only shows a line's proportions, which it has at any size. */
const probeSide = 512;

/** How a text is drawn: its font size known, its colour one, and the side that its lines are flush with. */
interface DrawnText extends Omit<TextMark, 'fontSize'>, Pick<TextStyle, 'align' | 'fontSize'> {}

/** The text, rotated, and shrunk so that what is rotated lies in the area. Undefined where there is no ink. */
function textOverlay(drawn: DrawnText, area: Size, degrees: number, renderer: TextRenderer) {
  const { text, ...style } = drawn;
  const box = degrees === 0 ? area : boxOf(drawn, area, degrees, renderer);
  const overlay = box && renderer.render(text, { ...style, maxWidth: box.width, maxHeight: box.height });
  return overlay && rotateOverlay(overlay, degrees);
}

/** The box of the text before it is rotated: for lines the largest, for one the largest of its proportions. */
function boxOf({ text, ...style }: DrawnText, area: Size, degrees: number, renderer: TextRenderer) {
  if (style.wrap) return largestRotated(area, degrees);
  const most = boundsBeforeRotation(area, degrees);
  const scale = Math.min(1, probeSide / Math.max(most.width, most.height));
  const probe = renderer.render(text, {
    ...style,
    fontSize: style.fontSize * scale,
    outline: style.outline && style.outline * scale,
    maxWidth: Math.ceil(most.width * scale),
    maxHeight: Math.ceil(most.height * scale),
  });
  return probe && fitRotated({ width: probe.width / scale, height: probe.height / scale }, area, degrees);
}

/** So many times as large as it is to be, at least, a logo is left to the kernel. */
const leastTimes = 1.5;

/** The logo so many pixels wide, rotated, and shrunk until it then lies in the area. The same for both engines. */
function logoOverlay(logo: Raster, width: number, area: Size, degrees: number): Overlay {
  const wanted = { width, height: (width * logo.height) / logo.width };
  const size = fitRotated(wanted, area, degrees);
  return rotateOverlay(premultiplied(resizeLogo(logo, size)), degrees);
}

/** Pixels of a much larger one are averaged first: the kernel would take long over them and add nothing. */
function resizeLogo(logo: Raster, size: Size): Raster {
  if (logo.width === size.width && logo.height === size.height) return firstFrame(logo);
  const times = Math.min(logo.width / size.width, logo.height / size.height) / leastTimes;
  const near = times >= 2 ? shrinkRaster(logo, Math.floor(times)) : firstFrame(logo);
  return resampleRaster(near, size);
}

/** The first frame, with alpha. */
function firstFrame(raster: Raster): Raster {
  const { data, width, height, channels } = raster;
  return withAlpha({ ...raster, data: data.subarray(0, width * height * channels), frames: 1 });
}

function premultiplied({ data, width, height }: Raster): Overlay {
  const multiplied = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3] as number;
    const share = alpha / 255;
    multiplied[i] = (data[i] as number) * share + 0.5;
    multiplied[i + 1] = (data[i + 1] as number) * share + 0.5;
    multiplied[i + 2] = (data[i + 2] as number) * share + 0.5;
    multiplied[i + 3] = alpha;
  }
  return { data: multiplied, width, height };
}
