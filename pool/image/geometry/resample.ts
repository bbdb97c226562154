import type { Raster } from '../raster.js';

/** Lobes of the kernel. */
const lobes = 3;

/**
 * Every frame of an RGBA raster at another size, by the Lanczos kernel of three lobes as libvips has it: pixels' middles at
 * halves, widened by what it shrinks, the edge's pixels standing for those beyond. On premultiplied values, so that what is
 * transparent lends no colour. Own code because it works a row at a time: the codecs in WebAssembly hold a picture as floats in
 * memory that is never given back, and Jimp's own resizing skips pixels where it shrinks.
 */
export function resampleRaster(raster: Raster, { width, height }: { width: number; height: number }): Raster {
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
        const row = from + (first + i) * bytes;
        add(line, raster.data, row, weights[i] as number);
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
