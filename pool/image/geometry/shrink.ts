import type { Raster } from '../raster.js';

/**
 * The first frame, so many times smaller on each side, as RGBA: each pixel is the mean of those that it covers, of
 * premultiplied values, so that what is transparent lends no colour. One time is the frame as it is.
 */
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
      put(data, to, sums, x * 4, (end - start) * (bottom - top));
      start = end;
    }
  }
  return { data, width, height, channels: 4, frames: 1 };
}

/** The pixels of one row that fall into one of the result, in sums of their own first: writing each into memory takes far longer. */
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

function put(data: Uint8Array, to: number, sums: Float64Array, from: number, pixels: number): void {
  const alpha = sums[from + 3] as number;
  if (alpha === 0) return;
  data[to] = (sums[from] as number) / alpha + 0.5;
  data[to + 1] = (sums[from + 1] as number) / alpha + 0.5;
  data[to + 2] = (sums[from + 2] as number) / alpha + 0.5;
  data[to + 3] = alpha / pixels + 0.5;
}
