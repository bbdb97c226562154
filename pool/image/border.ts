import { type BorderOptions, inPixels, type Measure, type Size } from './engine.js';
import { placeOnCanvas, putOnNothing, putOnWhite, type Raster, withAlpha } from './raster.js';

/** What validated options mean for a picture of this size, and the size that it then has. */
export function planBorder(size: Size, options: BorderOptions) {
  const { width, top = width, right = width, bottom = width, left = width } = options;
  const { color, radius = 0, inset = false } = options;
  const shorter = Math.min(size.width, size.height);
  const pixels = (measure: Measure) => inPixels(measure, shorter);
  const sides = { top: pixels(top), right: pixels(right), bottom: pixels(bottom), left: pixels(left) };
  const grown = inset
    ? size
    : { width: size.width + sides.left + sides.right, height: size.height + sides.top + sides.bottom };
  // As CSS has it: corners that would meet are made smaller until they touch.
  const roundest = Math.floor(Math.min(grown.width, grown.height) / 2);
  const plan = { ...sides, color, radius: Math.min(pixels(radius), roundest), inset };
  return { plan, width: grown.width, height: grown.height };
}

/** A border in pixels; `radius` is that of the outer corners, 0 for square ones. */
export type BorderPlan = ReturnType<typeof planBorder>['plan'];

/** Draws a border on every frame, maybe in place; outside its corners is transparent or, if `opaque`, white. */
export function drawBorder(raster: Raster, plan: BorderPlan, opaque: boolean): Raster {
  const framed = plan.inset ? paintSides(raster, plan) : extendRaster(raster, plan);
  return plan.radius === 0 ? framed : roundCorners(framed, plan, opaque);
}

/** Lines within a row of pixels at which the curve is looked at. */
const scanLines = 8;

/**
 * Rounds the corners as CSS rounds a box (Backgrounds and Borders 3, 4.2): the outer edge is a quarter of a circle, the
 * inner one of an ellipse whose radii are less by the border's widths. Draws in place where there is an alpha channel.
 */
function roundCorners(framed: Raster, plan: BorderPlan, opaque: boolean): Raster {
  const raster = opaque ? framed : withAlpha(framed);
  const { width, height, frames } = raster;
  const { top, right, bottom, left, radius } = plan;
  // Each from the outside inwards: its first pixel, which way it runs, and the border's widths on its two sides.
  const corners = [
    { x: 0, y: 0, stepX: 1, stepY: 1, across: left, down: top },
    { x: width - 1, y: 0, stepX: -1, stepY: 1, across: right, down: top },
    { x: 0, y: height - 1, stepX: 1, stepY: -1, across: left, down: bottom },
    { x: width - 1, y: height - 1, stepX: -1, stepY: -1, across: right, down: bottom },
  ];
  const { data, channels } = raster;
  const [red = 0, green = 0, blue = 0] = pixelOf(plan, 3);
  for (const corner of corners) {
    const outer = new Float64Array(radius + 1);
    const inner = new Float64Array(radius + 1);
    for (let j = 0; j < radius; j++) {
      coverRow(outer, radius, radius, radius, 0, 0, j);
      coverRow(inner, radius, radius - corner.across, radius - corner.down, corner.across, corner.down, j);
      for (let i = 0; i < radius; i++) {
        const within = outer[i] as number;
        const picture = inner[i] as number;
        const isOnBorder = i < corner.across || j < corner.down;
        if (picture === 1 || (within === 1 && picture === 0 && isOnBorder)) continue;
        const at = (corner.y + corner.stepY * j) * width + corner.x + corner.stepX * i;
        for (let frame = 0; frame < frames; frame++) {
          const to = (frame * width * height + at) * channels;
          const seen = opaque ? picture : (picture * (data[to + 3] as number)) / 255;
          const ring = Math.max(0, within - picture);
          const mix = (at: number, color: number) => (data[at] as number) * seen + color * ring;
          const put = opaque ? putOnWhite : putOnNothing;
          const alpha = opaque ? within : seen + ring;
          put(data, to, mix(to, red), mix(to + 1, green), mix(to + 2, blue), alpha);
        }
      }
    }
  }
  return raster;
}

/** The share of each of a row's first pixels that lies inside the rounded corner of a box from `fromX` and `fromY`. */
function coverRow(
  out: Float64Array,
  count: number,
  radiusX: number,
  radiusY: number,
  fromX: number,
  fromY: number,
  row: number,
): void {
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
