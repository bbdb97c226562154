import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import sharp from 'sharp';

/** Soft shapes under fine grain: as hard to compress as a photograph. */
export async function drawPhoto(width: number, height: number): Promise<Buffer> {
  const noise = (sigma: number) => ({ type: 'gaussian' as const, mean: 128, sigma });
  const layer = (w: number, h: number, sigma: number) =>
    sharp({ create: { width: w, height: h, channels: 3, background: '#888', noise: noise(sigma) } });
  const clouds = await layer(40, 28, 90).resize(width, height, { kernel: 'cubic' }).png().toBuffer();
  const [w, h] = [width >> 2, height >> 2];
  const detail = await layer(w, h, 40).resize(width, height).png().toBuffer();
  const grain = await layer(width, height, 6).png().toBuffer();
  return sharp(clouds)
    .composite([
      { input: detail, blend: 'soft-light' },
      { input: grain, blend: 'soft-light' },
    ])
    .jpeg({ quality: 92 })
    .toBuffer();
}

/**
 * Peak signal to noise, in dB, of a result's middle against the source's: no border and no watermark in a corner touches it. Infinite
 * where both are the same.
 */
export async function closeness(source: Uint8Array, result: Uint8Array): Promise<number> {
  const { width, height } = (await sharp(source).metadata()).autoOrient;
  const side = Math.min(800, Math.min(width, height) >> 1);
  const [before, after] = await Promise.all([middle(source, side), middle(result, side)]);
  let squares = 0;
  for (let i = 0; i < before.length; i++) squares += ((before[i] as number) - (after[i] as number)) ** 2;
  return squares === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((255 * 255 * before.length) / squares);
}

/** `37.3 dB`, or that nothing was lost. */
export function decibels(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'exact' : `${value.toFixed(1)} dB`;
}

async function middle(bytes: Uint8Array, side: number): Promise<Buffer> {
  const { width, height } = (await sharp(bytes).metadata()).autoOrient;
  return sharp(bytes)
    .autoOrient()
    .removeAlpha()
    .toColourspace('srgb')
    .extract({ left: (width - side) >> 1, top: (height - side) >> 1, width: side, height: side })
    .raw()
    .toBuffer();
}

export interface Picture {
  /** `2500 px`, its width. */
  name: string;
  bytes: Uint8Array;
}

/** What to measure on: this file, or a picture that is drawn for it, and the same one at 768 pixels. */
export async function pictures(file: string | undefined): Promise<{ from: string; sizes: Picture[] }> {
  const large = new Uint8Array(file ? await readFile(file) : await drawPhoto(2500, 1786));
  const small = await sharp(large).autoOrient().resize({ width: 768 }).jpeg({ quality: 92 }).toBuffer();
  return {
    from: file ? basename(file) : 'drawn picture',
    sizes: [await picture(large), await picture(new Uint8Array(small))],
  };
}

async function picture(bytes: Uint8Array): Promise<Picture> {
  const { width } = (await sharp(bytes).metadata()).autoOrient;
  return { name: `${width} px`, bytes };
}
