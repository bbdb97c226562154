import type { Measure, Position, Size } from './engine.js';
import { type Overlay, type Point, type Raster, withAlpha } from './raster.js';
import { resampleRaster, shrinkRaster } from './resize.js';
import { directionOf, rotateOverlay } from './rotate.js';
import type { TextStyle } from './text/layout.js';
import type { TextRenderer } from './text/overlay.js';

/** Where a mark goes, and how; every option has its value. */
export interface Placing {
  position: Position;
  /** 0 to 1. */
  opacity: number;
  margin: Measure | 'auto';
  /** Clockwise, from 0 up to 360. */
  degrees: number;
  /** Covers the picture, in place of one mark at its position. */
  tile?: { spacing: Measure | 'auto' } | undefined;
}

/** A text to be drawn. */
export interface TextMark {
  text: string;
  /** Pixels. */
  fontSize: number | 'auto';
  /** `#rrggbb`. */
  color: string;
  outline?: number | undefined;
  wrap?: { maxLines: number } | undefined;
}

/** A picture to be laid, of which the pixels are drawn when they are asked for. */
export interface LogoMark {
  pixels: () => Promise<Raster>;
  /** Its width as a fraction of the picture's. */
  scale: number;
}

/** A mark as a recipe has it: validated, with its defaults. */
export type Mark = Placing & ({ text: TextMark; logo?: undefined } | { logo: LogoMark; text?: undefined });

/** The part of a picture inside its margins, in whole pixels. */
export interface Area extends Size, Point {}

/** Of each side so much is left to the mark at least, however large a margin was asked for. */
const leastArea = 0.1;

/** Distance of a text's ink from the edges: half the font size, but no more than a twentieth of the shorter side. */
export function textMargin(size: Size, fontSize: number): number {
  return Math.min(Math.floor(fontSize / 2), logoMargin(size));
}

/** Distance of a logo from the edges: a twentieth of the shorter side. */
export function logoMargin({ width, height }: Size): number {
  return Math.floor(Math.min(width, height) / 20);
}

/** The area inside margins of so many pixels, at least one pixel wide and high. */
export function areaWithin({ width, height }: Size, margin: number): Area {
  const left = Math.min(margin, Math.floor((width * (1 - leastArea)) / 2));
  const top = Math.min(margin, Math.floor((height * (1 - leastArea)) / 2));
  return { left, top, width: width - 2 * left, height: height - 2 * top };
}

/** The side that a position is at, or neither. */
export function sideOf(position: Position): 'left' | 'center' | 'right' {
  if (position === 'center') return position;
  return position.endsWith('left') ? 'left' : 'right';
}

/** Where an overlay lies at its position in the area. */
export function placeIn(area: Area, overlay: Size, position: Position): Point {
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

/** So much of a pixel a bound may be missed by: what is right of it comes of sines that are not quite 0. */
const slack = 1e-6;

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

/**
 * The box of the largest area that lies in the area when it is rotated: half the shorter side bounds it where the area is
 * long, and its four corners touch all sides where it is not.
 */
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

/** Pixels on a side of the drawing that only tells a line's proportions, which it has at any size. */
const probeSide = 512;

/** How a text is drawn: its font size known, its colour one, and the side that its lines are flush with. */
interface DrawnText extends Omit<TextMark, 'fontSize'>, Pick<TextStyle, 'align' | 'fontSize'> {}

/** The text, rotated, and shrunk so that what is rotated lies in the area. Undefined where there is no ink. */
export function textOverlay(
  drawn: DrawnText,
  area: Size,
  degrees: number,
  renderer: TextRenderer,
): Overlay | undefined {
  const { text, ...style } = drawn;
  const box = degrees === 0 ? area : boxOf(drawn, area, degrees, renderer);
  const overlay = box && renderer.render(text, { ...style, maxWidth: box.width, maxHeight: box.height });
  return overlay && rotateOverlay(overlay, degrees);
}

/**
 * The box that the text has to keep to before it is rotated. Lines are broken to fill the largest that there is; one line has
 * proportions of its own, and is given the largest box of those.
 */
function boxOf(
  { text, ...style }: DrawnText,
  area: Size,
  degrees: number,
  renderer: TextRenderer,
): Size | undefined {
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

/** The logo so many pixels wide, rotated, and shrunk so that what is rotated lies in the area. The same for both engines. */
export function logoOverlay(logo: Raster, width: number, area: Size, degrees: number): Overlay {
  const wanted = { width, height: (width * logo.height) / logo.width };
  const size = fitRotated(wanted, area, degrees);
  return rotateOverlay(premultiplied(resizeLogo(logo, size)), degrees);
}

/** Of something many times as large its pixels are averaged first, for the kernel would take long over them and add nothing. */
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
