import type { Fit, Focus, ResizeOptions, Size } from './engine.js';
import { placeCut } from './focus.js';
import type { Raster, Rectangle } from './raster.js';

/** A change of size to exactly this, and what is then cut out of it. */
interface ResizePlan extends Size {
  crop?: Rectangle;
}

/** What validated options mean for a picture of this size. Whole pixels, rounded to the nearest, at least one. */
export function planResize(
  size: Size,
  { width, height, fit, focus }: ResizeOptions & { fit: Fit; focus: Focus },
): ResizePlan {
  const across = width === undefined ? undefined : width / size.width;
  const down = height === undefined ? undefined : height / size.height;
  if (fit === 'fill' && width !== undefined && height !== undefined) return { width, height };
  const choose = fit === 'cover' ? Math.max : Math.min;
  const factor = choose(across ?? (down as number), down ?? (across as number));
  const scaled = { width: scale(size.width, factor), height: scale(size.height, factor) };
  if (fit !== 'cover' || width === undefined || height === undefined) return scaled;
  if (scaled.width === width && scaled.height === height) return scaled;
  return { ...scaled, crop: { ...placeCut({ scaled, width, height }, focus), width, height } };
}

function scale(side: number, factor: number): number {
  return Math.max(1, Math.round(side * factor));
}

/** The first frame, so many times smaller, as RGBA: each pixel is the premultiplied mean of those it covers. */
export function shrinkRaster(raster: Raster, times: number): Raster {
  const { data: source, width: w, height: h, channels } = raster;
  const width = Math.ceil(w / times);
  const height = Math.ceil(h / times);
  const data = new Uint8Array(width * height * 4);
  const sums = new Float64Array(width * 4);
  const ends = Uint32Array.from({ length: width }, (_, x) => Math.floor(((x + 1) * w) / width));
  for (let y = 0, to = 0; y < height; y++) {
    const top = Math.floor((y * h) / height);
    const bottom = Math.floor(((y + 1) * h) / height);
    sums.fill(0);
    for (let row = top; row < bottom; row++) {
      for (let x = 0, at = 0, from = row * w * channels; x < width; x++) {
        const end = ends[x] as number;
        const bytes = (end - at) * channels;
        addRun(sums, x * 4, source, from, from + bytes, channels);
        from += bytes;
        at = end;
      }
    }
    for (let x = 0, start = 0; x < width; x++, to += 4) {
      const end = ends[x] as number;
      putMean(data, to, sums, x * 4, (end - start) * (bottom - top));
      start = end;
    }
  }
  return { data, width, height, channels: 4, frames: 1 };
}

/** Pixels of a row that fall into one of the result, summed locally first: writing each into memory takes longer. */
function addRun(
  sums: Float64Array,
  to: number,
  source: Uint8Array,
  from: number,
  end: number,
  channels: 3 | 4,
) {
  let red = 0;
  let green = 0;
  let blue = 0;
  let alphas = 0;
  for (let at = from; at < end; at += channels) {
    const alpha = channels === 3 ? 255 : (source[at + 3] as number);
    red += (source[at] as number) * alpha;
    green += (source[at + 1] as number) * alpha;
    blue += (source[at + 2] as number) * alpha;
    alphas += alpha;
  }
  sums[to] = (sums[to] as number) + red;
  sums[to + 1] = (sums[to + 1] as number) + green;
  sums[to + 2] = (sums[to + 2] as number) + blue;
  sums[to + 3] = (sums[to + 3] as number) + alphas;
}

function putMean(data: Uint8Array, to: number, sums: Float64Array, from: number, pixels: number): void {
  const alpha = sums[from + 3] as number;
  if (alpha === 0) return;
  data[to] = (sums[from] as number) / alpha + 0.5;
  data[to + 1] = (sums[from + 1] as number) / alpha + 0.5;
  data[to + 2] = (sums[from + 2] as number) / alpha + 0.5;
  data[to + 3] = alpha / pixels + 0.5;
}

/** Lobes of the kernel. */
const lobes = 3;

/**
 * Every frame of an RGBA raster at another size, by libvips's Lanczos kernel, on premultiplied values. Own code: the
 * codecs in WebAssembly hold a picture as floats in memory that is never given back, and Jimp skips pixels where it
 * shrinks.
 */
export function resampleRaster(raster: Raster, { width, height }: Size): Raster {
  const { frames } = raster;
  const columns = kernelOf(raster.width, width);
  const rows = kernelOf(raster.height, height);
  const add = isOpaque(raster.data) ? addOpaque : addPremultiplied;
  const data = Buffer.allocUnsafeSlow(width * height * 4 * frames);
  const line = new Float32Array(raster.width * 4);
  const bytes = raster.width * 4;
  for (let frame = 0, to = 0; frame < frames; frame++) {
    const from = frame * raster.height * bytes;
    for (const { first, weights } of rows) {
      line.fill(0);
      for (let i = 0; i < weights.length; i++) {
        add(line, raster.data, from + (first + i) * bytes, weights[i] as number);
      }
      for (const tap of columns) {
        put(data, to, line, tap);
        to += 4;
      }
    }
  }
  return { data, width, height, channels: 4, frames };
}

/** How much of each source pixel from `first` on goes into one of the result; together 1. */
interface Tap {
  first: number;
  weights: Float32Array;
}

function kernelOf(from: number, to: number): Tap[] {
  const scale = from / to;
  const stretch = Math.max(1, scale);
  return Array.from({ length: to }, (_, i) => {
    const middle = (i + 0.5) * scale - 0.5;
    const start = Math.ceil(middle - lobes * stretch);
    const end = Math.floor(middle + lobes * stretch);
    const first = Math.max(0, start);
    const weights = new Float32Array(Math.min(from - 1, end) - first + 1);
    let sum = 0;
    for (let at = start; at <= end; at++) {
      const weight = lanczos((at - middle) / stretch);
      const inside = Math.min(Math.max(at, 0), from - 1) - first;
      weights[inside] = (weights[inside] as number) + weight;
      sum += weight;
    }
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}

function lanczos(x: number): number {
  if (x === 0) return 1;
  if (Math.abs(x) >= lobes) return 0;
  const angle = Math.PI * x;
  return (lobes * Math.sin(angle) * Math.sin(angle / lobes)) / (angle * angle);
}

function isOpaque(data: Uint8Array): boolean {
  for (let i = 3; i < data.length; i += 4) if (data[i] !== 255) return false;
  return true;
}

/** A pixel a step: byte by byte takes half as long again. */
function addOpaque(line: Float32Array, data: Uint8Array, from: number, weight: number): void {
  for (let i = 0, at = from; i < line.length; i += 4, at += 4) {
    line[i] = (line[i] as number) + (data[at] as number) * weight;
    line[i + 1] = (line[i + 1] as number) + (data[at + 1] as number) * weight;
    line[i + 2] = (line[i + 2] as number) + (data[at + 2] as number) * weight;
    line[i + 3] = (line[i + 3] as number) + 255 * weight;
  }
}

function addPremultiplied(line: Float32Array, data: Uint8Array, from: number, weight: number): void {
  for (let i = 0; i < line.length; i += 4) {
    const alpha = data[from + i + 3] as number;
    if (alpha === 0) continue;
    const share = (weight * alpha) / 255;
    line[i] = (line[i] as number) + (data[from + i] as number) * share;
    line[i + 1] = (line[i + 1] as number) + (data[from + i + 1] as number) * share;
    line[i + 2] = (line[i + 2] as number) + (data[from + i + 2] as number) * share;
    line[i + 3] = (line[i + 3] as number) + alpha * weight;
  }
}

function put(data: Uint8Array, to: number, line: Float32Array, { first, weights }: Tap): void {
  let red = 0;
  let green = 0;
  let blue = 0;
  let alpha = 0;
  for (let i = 0, at = first * 4; i < weights.length; i++, at += 4) {
    const weight = weights[i] as number;
    red += (line[at] as number) * weight;
    green += (line[at + 1] as number) * weight;
    blue += (line[at + 2] as number) * weight;
    alpha += (line[at + 3] as number) * weight;
  }
  // The kernel overshoots at edges: alpha is bounded before the colours are divided by it.
  const bounded = Math.min(255, Math.max(0, alpha));
  const visible = bounded >= 0.5 ? 255 / bounded : 0;
  data[to] = toByte(red * visible);
  data[to + 1] = toByte(green * visible);
  data[to + 2] = toByte(blue * visible);
  data[to + 3] = toByte(bounded);
}

function toByte(value: number): number {
  return Math.min(255, Math.max(0, value)) + 0.5;
}
