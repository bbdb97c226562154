import { mount, type Raster } from '../raster.js';
import type { BorderPlan } from './plan-border.js';
import { roundCorners } from './round-corners.js';

/**
 * Every frame in a border of one solid colour, around it or over its edges; what lies outside rounded corners is transparent, or
 * white where `opaque`. May draw in place. Own code so that both engines give the same pixels.
 */
export function drawBorder(raster: Raster, plan: BorderPlan, opaque: boolean): Raster {
  const framed = plan.inset ? paintSides(raster, plan) : extendRaster(raster, plan);
  return plan.radius === 0 ? framed : roundCorners(framed, plan, opaque);
}

function extendRaster(raster: Raster, plan: BorderPlan): Raster {
  const { top, right, bottom, left } = plan;
  if (top + right + bottom + left === 0) return raster;
  const { width, height } = raster;
  return mount(
    raster,
    width + left + right,
    height + top + bottom,
    left,
    top,
    pixelOf(plan, raster.channels),
  );
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
