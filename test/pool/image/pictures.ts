import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import type { ImageLimits } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';

export const limits: ImageLimits = { maxPixels: 1_000_000, maxFrames: 50 };

export type Rgb = readonly [number, number, number];

/** What `quadrants` paints, by place. */
export const quadrantColors: Record<'topLeft' | 'topRight' | 'bottomLeft' | 'bottomRight', Rgb> = {
  topLeft: [220, 30, 40],
  topRight: [40, 180, 60],
  bottomLeft: [50, 70, 210],
  bottomRight: [240, 230, 200],
};

/** A picture of four colours, so that every flip and turn of it looks different. */
export function quadrants(width = 48, height = 32): Raster {
  return paint(width, height, (x, y) => {
    const left = x < width / 2;
    if (y < height / 2) return left ? quadrantColors.topLeft : quadrantColors.topRight;
    return left ? quadrantColors.bottomLeft : quadrantColors.bottomRight;
  });
}

const places = {
  topLeft: [0.25, 0.25],
  topRight: [0.75, 0.25],
  bottomLeft: [0.25, 0.75],
  bottomRight: [0.75, 0.75],
} as const;

/** That a picture shows `quadrants` upright, whatever its size. */
export function expectQuadrants(raster: Raster, tolerance: number, what = ''): void {
  for (const [place, [x, y]] of Object.entries(places) as [keyof typeof places, [number, number]][]) {
    expect(distance(colorAt(raster, x, y), quadrantColors[place]), `${what} ${place}`).to.be.at.most(
      tolerance,
    );
  }
}

export function paint(
  width: number,
  height: number,
  colorAt: (x: number, y: number) => readonly number[],
): Raster {
  const channels = colorAt(0, 0).length === 4 ? 4 : 3;
  const data = Buffer.alloc(width * height * channels);
  let at = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const color = colorAt(x, y);
      for (let channel = 0; channel < channels; channel++) data[at++] = color[channel] as number;
    }
  }
  return { data, width, height, channels, frames: 1 };
}

/** The same through sharp, to be encoded as a source. */
export function toSharp(raster: Raster): Sharp {
  const { data, width, height, channels, frames } = raster;
  return sharp(data, { raw: { width, height: height * frames, channels, pageHeight: height } });
}

/** Sources in each format that goes in, without loss or nearly. */
export const sources = {
  png: () => toSharp(quadrants()).png().toBuffer(),
  'palette png': () => toSharp(quadrants()).png({ palette: true }).toBuffer(),
  'interlaced png': () => toSharp(quadrants()).png({ progressive: true }).toBuffer(),
  'png of 16 bit': () => toSharp(quadrants()).toColourspace('rgb16').png().toBuffer(),
  jpeg: () => toSharp(quadrants()).jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer(),
  'progressive jpeg': () => toSharp(quadrants()).jpeg({ quality: 95, progressive: true }).toBuffer(),
  webp: () => toSharp(quadrants()).webp({ quality: 95 }).toBuffer(),
  'lossless webp': () => toSharp(quadrants()).webp({ lossless: true }).toBuffer(),
  gif: () => toSharp(quadrants()).gif().toBuffer(),
} satisfies Record<string, () => Promise<Buffer>>;

export const frameColors: [Rgb, Rgb, Rgb] = [
  [200, 0, 0],
  [0, 160, 0],
  [0, 0, 220],
];

/** Three frames of one colour each. */
export function animation(): Sharp {
  const frames = frameColors.map((color) => paint(40, 24, () => color).data);
  return toSharp({ data: Buffer.concat(frames), width: 40, height: 24, channels: 3, frames: frames.length });
}

/** The colour at a place given in shares of width and height. */
export function colorAt(raster: Raster, across: number, down: number): number[] {
  const x = Math.min(Math.floor(raster.width * across), raster.width - 1);
  const y = Math.min(Math.floor(raster.height * down), raster.height - 1);
  const at = (y * raster.width + x) * raster.channels;
  return [...raster.data.subarray(at, at + raster.channels)];
}

/** The largest difference of a channel. */
export function distance(a: readonly number[], b: readonly number[]): number {
  return Math.max(...b.map((value, i) => Math.abs(value - (a[i] ?? 0))));
}

/** Where row r and column c of the stored picture are seen; the wording of EXIF 2.32 for tag 0x0112, as formulas. */
const seen: Record<number, (r: number, c: number, w: number, h: number) => [x: number, y: number]> = {
  1: (r, c) => [c, r],
  2: (r, c, w) => [w - 1 - c, r],
  3: (r, c, w, h) => [w - 1 - c, h - 1 - r],
  4: (r, c, _w, h) => [c, h - 1 - r],
  5: (r, c) => [r, c],
  6: (r, c, w) => [w - 1 - r, c],
  7: (r, c, w, h) => [w - 1 - r, h - 1 - c],
  8: (r, c, _w, h) => [r, h - 1 - c],
};

/** The same picture as a camera that was held otherwise stores it, to be shown with this EXIF orientation. */
export function storeTurned(upright: Raster, orientation: number): Raster {
  const { width: w, height: h, data } = upright;
  const swap = orientation > 4;
  return paint(swap ? h : w, swap ? w : h, (column, row) => {
    const [x, y] = (seen[orientation] as (typeof seen)[1])(row, column, w, h);
    return [...data.subarray((y * w + x) * 3, (y * w + x) * 3 + 3)];
  });
}

export const pngOf = (raster: Raster): Promise<Buffer> => toSharp(raster).png().toBuffer();

/** What a promise rejects with; undefined where it does not. */
export function rejectionOf(promise: Promise<unknown>) {
  return promise.then(
    () => undefined,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is thrown.
    (error: any) => error,
  );
}
