import { type BorderOptions, inPixels, type Measure, type Size } from './engine.js';
import { placeOnCanvas, type Raster, withAlpha } from './raster.js';

/** A border in pixels. */
export interface BorderPlan {
  top: number;
  right: number;
  bottom: number;
  left: number;
  /** `#rrggbb`. */
  color: string;
  /** Of the outer corners; 0 for square ones. */
  radius: number;
  /** Over the picture's own edges. */
  inset: boolean;
}

/** What validated options mean for a picture of this size, and the size that it then has. */
export function planBorder(
  size: Size,
  {
    width,
    top = width,
    right = width,
    bottom = width,
    left = width,
    color,
    radius = 0,
    inset,
  }: BorderOptions,
): { plan: BorderPlan; width: number; height: number } {
  const shorter = Math.min(size.width, size.height);
  const pixels = (measure: Measure) => inPixels(measure, shorter);
  const sides = { top: pixels(top), right: pixels(right), bottom: pixels(bottom), left: pixels(left) };
  const grown = inset
    ? size
    : { width: size.width + sides.left + sides.right, height: size.height + sides.top + sides.bottom };
  // As CSS has it: corners that would meet are made smaller until they touch.
  const roundest = Math.floor(Math.min(grown.width, grown.height) / 2);
  const plan = { ...sides, color, radius: Math.min(pixels(radius), roundest), inset: inset === true };
  return { plan, width: grown.width, height: grown.height };
}

/**
 * Every frame in a border of one solid colour, around it or over its edges; what lies outside rounded corners is transparent, or
 * white where `opaque`. May draw in place. Own code so that both engines give the same pixels.
 */
export function drawBorder(raster: Raster, plan: BorderPlan, opaque: boolean): Raster {
  const framed = plan.inset ? paintSides(raster, plan) : extendRaster(raster, plan);
  return plan.radius === 0 ? framed : roundCorners(framed, plan, opaque);
}

/** Lines within a row of pixels at which the curve is looked at. */
const scanLines = 8;

/** One corner, from the outside inwards: how far it is from pixel (0, 0), and which way its rows and columns run. */
interface BorderCorner {
  x: number;
  y: number;
  stepX: 1 | -1;
  stepY: 1 | -1;
  /** The border's width on its two sides. */
  across: number;
  down: number;
}

/**
 * Rounds the corners of a picture that has its border already, as CSS rounds a box (Backgrounds and Borders 3, 4.2): the outer edge
 * is a quarter of a circle, the inner one of an ellipse whose radii are less by the border's widths, and square where nothing is
 * left of them. Edges are smooth, by the share of each pixel that lies inside. Draws in place where there is an alpha channel.
 */
function roundCorners(framed: Raster, plan: BorderPlan, opaque: boolean): Raster {
  const raster = opaque ? framed : withAlpha(framed);
  const { width, height, frames } = raster;
  const { top, right, bottom, left, radius } = plan;
  const corners: BorderCorner[] = [
    { x: 0, y: 0, stepX: 1, stepY: 1, across: left, down: top },
    { x: width - 1, y: 0, stepX: -1, stepY: 1, across: right, down: top },
    { x: 0, y: height - 1, stepX: 1, stepY: -1, across: left, down: bottom },
    { x: width - 1, y: height - 1, stepX: -1, stepY: -1, across: right, down: bottom },
  ];
  const draw = opaque ? putOnWhite : putOnNothing;
  const color = [1, 3, 5].map((at) => Number.parseInt(plan.color.slice(at, at + 2), 16));
  for (const corner of corners) {
    const outer = new Float64Array(radius + 1);
    const inner = new Float64Array(radius + 1);
    for (let j = 0; j < radius; j++) {
      coverRow(outer, radius, { radiusX: radius, radiusY: radius, fromX: 0, fromY: 0, row: j });
      coverRow(inner, radius, {
        radiusX: radius - corner.across,
        radiusY: radius - corner.down,
        fromX: corner.across,
        fromY: corner.down,
        row: j,
      });
      for (let i = 0; i < radius; i++) {
        const within = outer[i] as number;
        const picture = inner[i] as number;
        if (picture === 1 || (within === 1 && picture === 0 && isOnBorder(corner, i, j))) continue;
        const at = (corner.y + corner.stepY * j) * width + corner.x + corner.stepX * i;
        for (let frame = 0; frame < frames; frame++) {
          draw(raster, (frame * width * height + at) * raster.channels, color, within, picture);
        }
      }
    }
  }
  return raster;
}

/** Whether a pixel has the border's colour already. */
function isOnBorder({ across, down }: BorderCorner, i: number, j: number): boolean {
  return i < across || j < down;
}

interface Quarter {
  radiusX: number;
  radiusY: number;
  /** Where the box begins whose corner it is. */
  fromX: number;
  fromY: number;
  row: number;
}

/** The share of each pixel of a row that lies inside a rounded corner: exact across, and from some lines down. */
function coverRow(out: Float64Array, count: number, { radiusX, radiusY, fromX, fromY, row }: Quarter): void {
  out.fill(0);
  if (row < fromY) return;
  const square = radiusX <= 0 || radiusY <= 0;
  for (let line = 0; line < scanLines; line++) {
    const y = row - fromY + (line + 0.5) / scanLines;
    const away = square || y >= radiusY ? 0 : (radiusY - y) / radiusY;
    const edge = fromX + (square ? 0 : radiusX * (1 - Math.sqrt(1 - away * away)));
    const first = Math.floor(edge);
    if (first >= count) continue;
    // What a line covers from its first pixel on; the sums below make it of all that follow.
    const part = first + 1 - edge;
    out[first] = (out[first] as number) + part / scanLines;
    out[first + 1] = (out[first + 1] as number) + (1 - part) / scanLines;
  }
  let covered = 0;
  for (let i = 0; i < count; i++) {
    covered += out[i] as number;
    // Sums of eighths are exact, those of parts nearly so.
    out[i] = covered > 1 - 1e-9 ? 1 : covered;
  }
}

/** Writes a pixel of which a share lies within the border's outer edge, and a part of that inside the inner one, where the picture is. */
type Put = (raster: Raster, at: number, color: readonly number[], within: number, picture: number) => void;

const putOnNothing: Put = ({ data }, at, color, within, picture) => {
  const seen = (picture * (data[at + 3] as number)) / 255;
  const ring = Math.max(0, within - picture);
  const alpha = seen + ring;
  for (let c = 0; c < 3; c++) {
    const mixed = (data[at + c] as number) * seen + (color[c] as number) * ring;
    data[at + c] = alpha === 0 ? 0 : Math.min(255, mixed / alpha + 0.5);
  }
  data[at + 3] = Math.min(255, alpha * 255 + 0.5);
};

/** On pixels that are opaque, of three channels or four. */
const putOnWhite: Put = ({ data }, at, color, within, picture) => {
  const ring = Math.max(0, within - picture);
  for (let c = 0; c < 3; c++) {
    const mixed = (data[at + c] as number) * picture + (color[c] as number) * ring + 255 * (1 - within);
    data[at + c] = Math.min(255, mixed + 0.5);
  }
};

function extendRaster(raster: Raster, plan: BorderPlan): Raster {
  const { top, right, bottom, left } = plan;
  if (top + right + bottom + left === 0) return raster;
  const size = { width: raster.width + left + right, height: raster.height + top + bottom };
  return placeOnCanvas(raster, size, { left, top }, pixelOf(plan, raster.channels));
}

function paintSides(raster: Raster, plan: BorderPlan): Raster {
  const { width, height, channels, frames } = raster;
  const [top, bottom] = [Math.min(plan.top, height), Math.min(plan.bottom, height)];
  const [left, right] = [Math.min(plan.left, width), Math.min(plan.right, width)];
  const data = Buffer.from(raster.data.buffer, raster.data.byteOffset, raster.data.byteLength);
  const pixel = pixelOf(plan, channels);
  // An empty stretch would be filled all the same.
  const paint = (from: number, count: number) =>
    count > 0 && data.fill(pixel, from * channels, (from + count) * channels);
  for (let frame = 0; frame < frames; frame++) {
    const first = frame * height;
    paint(first * width, top * width);
    paint((first + height - bottom) * width, bottom * width);
    for (let row = top; row < height - bottom; row++) {
      paint((first + row) * width, left);
      paint((first + row + 1) * width - right, right);
    }
  }
  return raster;
}

function pixelOf({ color }: BorderPlan, channels: 3 | 4): Uint8Array {
  return Buffer.from(`${color.slice(1)}ff`, 'hex').subarray(0, channels);
}
