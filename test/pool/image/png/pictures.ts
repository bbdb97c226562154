import type { Raster } from '../../../../pool/image/raster.js';

type Next = () => number;

/** Draws a byte of a picture: `random` gives 0 to 1. */
type Draw = (x: number, y: number, channel: number, random: Next) => number;

export type Content = keyof typeof contents;

export const contents = {
  noise: (_x, _y, _channel, random) => random() * 256,
  flat: (_x, _y, channel) => 40 + channel,
  gradient: (x, y, channel) => x + 2 * y + 3 * channel,
  sparse: (_x, _y, _channel, random) => (random() < 0.01 ? random() * 256 : 0),
  // Soft shapes under grain.
  photo: (x, y, channel, random) =>
    128 +
    60 * Math.sin(x / 31 + channel) +
    50 * Math.cos(y / 23 - channel / 2) +
    12 * (random() + random() - 1),
  // Letters, as it were: a few shapes again and again on white.
  drawing: (x, y) => (((x >> 2) * 7 + (y >> 3) * 13) % 11 < 2 && (x * y) % 5 < 3 ? 30 : 255),
} satisfies Record<string, Draw>;

/** A picture of that kind; the same of the same seed. */
export function drawRaster(
  content: Content,
  width: number,
  height: number,
  channels: 3 | 4,
  seed: number,
): Raster {
  const data = new Uint8Array(width * height * channels);
  const draw: Draw = contents[content];
  let state = seed >>> 0;
  // A linear congruential generator, with the constants of Numerical Recipes.
  function random(): number {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  }
  let at = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < channels; channel++) data[at++] = draw(x, y, channel, random);
    }
  }
  return { data, width, height, channels, frames: 1 };
}
