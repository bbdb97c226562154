import { expect } from 'chai';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import type { ImageLimits, Size } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { luminanceOf } from '../../../pool/image/text/ink.js';

export const limits: ImageLimits = { maxPixels: 1_000_000, maxFrames: 50 };
export const purple = [128, 0, 128];
export const white = [255, 255, 255];

/** What `quadrants` paints, by place. */
export const quadrantColors = {
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

/** That a picture shows `quadrants` upright, whatever its size. */
export function expectQuadrants(raster: Raster, tolerance: number, what = ''): void {
  for (const [place, color] of Object.entries(quadrantColors)) {
    const shown = colorAt(raster, /left/i.test(place) ? 0.25 : 0.75, place.startsWith('top') ? 0.25 : 0.75);
    expect(distance(shown, color), `${what} ${place}`).to.be.at.most(tolerance);
  }
}

export function paint(
  width: number,
  height: number,
  colorAt: (x: number, y: number) => readonly number[],
): Raster {
  const channels = colorAt(0, 0).length === 4 ? 4 : 3;
  const data = Buffer.alloc(width * height * channels);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += channels) data.set(colorAt(x, y), at);
  }
  return { data, width, height, channels, frames: 1 };
}

/** The same size in one colour. */
export const plain = (width: number, height: number, color: readonly number[]) =>
  paint(width, height, () => color);

/** Pictures of one size as the frames of one. */
export function film(frames: readonly Raster[]): Raster {
  return {
    ...(frames[0] as Raster),
    data: Buffer.concat(frames.map(({ data }) => data)),
    frames: frames.length,
  };
}

/** The same through sharp, to be encoded as a source. */
export function toSharp(raster: Raster): Sharp {
  const { data, width, height, channels, frames } = raster;
  return sharp(data, { raw: { width, height: height * frames, channels, pageHeight: height } });
}

export const pngOf = (raster: Raster): Promise<Buffer> => toSharp(raster).png().toBuffer();

/** Sources in each format that goes in, without loss or nearly. */
export const sources = {
  png: () => pngOf(quadrants()),
  'palette png': () => toSharp(quadrants()).png({ palette: true }).toBuffer(),
  'interlaced png': () => toSharp(quadrants()).png({ progressive: true }).toBuffer(),
  'png of 16 bit': () => toSharp(quadrants()).toColourspace('rgb16').png().toBuffer(),
  jpeg: () => toSharp(quadrants()).jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer(),
  'progressive jpeg': () => toSharp(quadrants()).jpeg({ quality: 95, progressive: true }).toBuffer(),
  webp: () => toSharp(quadrants()).webp({ quality: 95 }).toBuffer(),
  'lossless webp': () => toSharp(quadrants()).webp({ lossless: true }).toBuffer(),
  gif: () => toSharp(quadrants()).gif().toBuffer(),
  avif: () => toSharp(quadrants()).avif({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer(),
  'avif of 10 bit': () => toSharp(quadrants()).avif({ quality: 95, bitdepth: 10 }).toBuffer(),
} satisfies Record<string, () => Promise<Buffer>>;

export const frameColors = [
  [200, 0, 0],
  [0, 160, 0],
  [0, 0, 220],
] as const;

/** Three frames of one colour each. */
export function animation(): Sharp {
  return toSharp(film(frameColors.map((color) => plain(40, 24, color))));
}

export const sizeOf = ({ width, height }: Size) => [width, height];

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

/** Small pictures of any pixels, with and without alpha, some of several frames. */
export function rasters(channels?: 3 | 4): fc.Arbitrary<Raster> {
  const side = fc.integer({ min: 1, max: 9 });
  const frames = fc.integer({ min: 1, max: 3 });
  const kind = channels ? fc.constant(channels) : fc.constantFrom<3 | 4>(3, 4);
  return fc.record({ width: side, height: side, frames, channels: kind }).chain((shape) => {
    const length = shape.width * shape.height * shape.frames * shape.channels;
    const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 255));
    return fc
      .array(value, { minLength: length, maxLength: length })
      .map((data) => ({ ...shape, data: Uint8Array.from(data) }));
  });
}

/** Red, green, blue and alpha of one pixel. */
export function pixelAt(raster: Raster, x: number, y: number, frame = 0): number[] {
  const { data, width, height, channels } = raster;
  const at = ((frame * height + y) * width + x) * channels;
  return channels === 4 ? [...data.subarray(at, at + 4)] : [...data.subarray(at, at + 3), 255];
}

/** Every pixel of a raster as it should be, by its place. */
export function pixelsWhere(
  { width, height, frames }: Omit<Raster, 'data' | 'channels'>,
  pixel: (x: number, y: number, frame: number) => number[],
): number[][] {
  const pixels: number[][] = [];
  for (let frame = 0; frame < frames; frame++) {
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) pixels.push(pixel(x, y, frame));
  }
  return pixels;
}

/** Every pixel of a raster as it is. */
export function pixelsOf(raster: Raster): number[][] {
  return pixelsWhere(raster, (...place) => pixelAt(raster, ...place));
}

/** Mean relative luminance of pixels, as seen on white. */
export function meanLuminance(pixels: readonly number[][]): number {
  const lights = pixels.map(([red = 0, green = 0, blue = 0, alpha = 0]) => {
    const onWhite = [red, green, blue].map((value) => Math.round(255 + ((value - 255) * alpha) / 255));
    return luminanceOf(`#${Buffer.from(onWhite).toString('hex')}`);
  });
  return lights.reduce((sum, light) => sum + light, 0) / lights.length;
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
  const { width: w, height: h, channels } = upright;
  const stored = { ...upright, ...(orientation > 4 && { width: h, height: w }) };
  const place = seen[orientation] as (typeof seen)[1];
  const pixels = pixelsWhere(stored, (column, row, frame) =>
    pixelAt(upright, ...place(row, column, w, h), frame).slice(0, channels),
  );
  return { ...stored, data: Buffer.from(pixels.flat()) };
}

/** A PNG whose header is whole and whose pixels cannot be decoded. */
export async function undecodable(): Promise<Buffer> {
  const png = await sources.png();
  return png.fill(0xff, png.indexOf('IDAT') + 4, png.length - 12);
}

/** What a promise rejects with; undefined where it does not. */
export function rejectionOf(promise: Promise<unknown>) {
  return promise.then(
    () => undefined,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is thrown.
    (error: any) => error,
  );
}
