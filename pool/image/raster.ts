import type { BorderOptions } from './engine.js';

/** Decoded pixels: sRGB, 8 bit, rows without padding; alpha is not premultiplied. */
export interface Raster {
  data: Uint8Array;
  /** Pixels. */
  width: number;
  /** Pixels of one frame. */
  height: number;
  /** 3 for RGB, 4 for RGBA. */
  channels: 3 | 4;
  /** Frames, one below the other in `data`. */
  frames: number;
}

/**
 * A larger raster in which every frame stands in a frame of one solid colour. Own code so that both engines give the same
 * pixels.
 */
export function extendRaster(raster: Raster, { width: border, color }: BorderOptions): Raster {
  if (border === 0) return raster;
  const pixel = Buffer.from(`${color.slice(1)}ff`, 'hex').subarray(0, raster.channels);
  return mount(raster, raster.width + 2 * border, raster.height + 2 * border, border, border, pixel);
}

/** Every frame on a canvas filled with one pixel's bytes, its top left corner at (`left`, `top`). */
export function mount(
  raster: Raster,
  width: number,
  height: number,
  left: number,
  top: number,
  pixel: Uint8Array,
): Raster {
  const { channels, frames } = raster;
  const data = Buffer.alloc(width * height * channels * frames, pixel);
  const bytes = raster.width * channels;
  for (let frame = 0; frame < frames; frame++) {
    for (let row = 0; row < raster.height; row++) {
      const from = (frame * raster.height + row) * bytes;
      const to = ((frame * height + top + row) * width + left) * channels;
      data.set(raster.data.subarray(from, from + bytes), to);
    }
  }
  return { data, width, height, channels, frames };
}

/** Lays an RGBA raster on white, in place. */
export function flattenRaster({ data, channels }: Raster): void {
  if (channels === 3) return;
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3] as number;
    if (alpha === 255) continue;
    const white = 255 * (255 - alpha) + 127;
    data[i] = ((data[i] as number) * alpha + white) / 255;
    data[i + 1] = ((data[i + 1] as number) * alpha + white) / 255;
    data[i + 2] = ((data[i + 2] as number) * alpha + white) / 255;
    data[i + 3] = 255;
  }
}

/** RGB where every pixel is opaque: a quarter fewer bytes to filter and to compress. */
export function dropOpaqueAlpha(raster: Raster): Raster {
  const { data: source, channels } = raster;
  if (channels === 3) return raster;
  for (let i = 3; i < source.length; i += 4) {
    if (source[i] !== 255) return raster;
  }
  const data = Buffer.allocUnsafe((source.length / 4) * 3);
  for (let from = 0, to = 0; to < data.length; from += 4, to += 3) {
    data[to] = source[from] as number;
    data[to + 1] = source[from + 1] as number;
    data[to + 2] = source[from + 2] as number;
  }
  return { ...raster, data, channels: 3 };
}
