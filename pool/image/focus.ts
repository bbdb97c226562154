import type { Focus, Size } from './engine.js';
import type { Point, Raster } from './raster.js';

/** A resize that fills `width` and `height` and cuts off the rest of a picture that is then `scaled`. */
export interface Cover extends Size {
  scaled: Size;
}

const named = /^(?:center|(?:top|bottom)(?:-left|-right)?|left|right)$/;
const perCent = /^(\d{1,3}(?:\.\d{1,9})?)%,(\d{1,3}(?:\.\d{1,9})?)%$/;

/** Whether `resize` takes it, whatever it is. */
export function isFocus(value: unknown): value is Focus {
  if (typeof value !== 'string') return false;
  const [, x, y] = perCent.exec(value) ?? [];
  return x === undefined ? value === 'auto' || named.test(value) : Number(x) <= 100 && Number(y) <= 100;
}

/** Where a cut begins that has the focus as near to its middle as the picture lets it; `auto` is found elsewhere. */
export function placeCut({ scaled, width, height }: Cover, focus: Focus): Point {
  const [, x, y] = perCent.exec(focus) ?? [];
  const part = (percent: string | undefined, start: string, end: string) => {
    if (percent !== undefined) return Number(percent) / 100;
    return focus.includes(start) ? 0 : focus.includes(end) ? 1 : 0.5;
  };
  const place = (at: number, whole: number, side: number) =>
    Math.min(whole - side, Math.max(0, Math.floor(at * whole - side / 2)));
  return {
    left: place(part(x, 'left', 'right'), scaled.width, width),
    top: place(part(y, 'top', 'bottom'), scaled.height, height),
  };
}

/** Places along the side that is cut, from one end to the other: few, so that two decoders' roundings choose the same. */
const steps = 24;
/** By how much a place at an end must be better than one in the middle. */
const towardsMiddle = 0.01;
/** What every pixel matters: a picture without anything in it is cut in the middle. */
const least = 0.002;

/**
 * Where `focus: 'auto'` cuts, by the picture's first frame; `raster` may be of any size. Of the places along the longer
 * overhang it is the one whose cut has most of what matters, most of it around its middle.
 */
export function findFocus(raster: Raster, { scaled, width, height }: Cover): Point {
  const cells = shrink(raster);
  const [spareX, spareY] = [scaled.width - width, scaled.height - height];
  const across = spareX * scaled.height >= spareY * scaled.width;
  const [spare, whole, side] = across
    ? [spareX, scaled.width, cells.width]
    : [spareY, scaled.height, cells.height];
  const lines = new Float64Array(side);
  for (const [i, value] of weigh(cells).entries()) {
    const line = across ? i % cells.width : Math.floor(i / cells.width);
    lines[line] = (lines[line] as number) + value + least;
  }
  const span = ((whole - spare) / whole) * side;
  let chosen = steps / 2;
  let most = 0;
  for (let step = 0; step <= steps; step++) {
    const start = (step / steps) * (side - span);
    let sum = 0;
    for (const [i, value] of lines.entries()) {
      const away = Math.abs((2 * (i + 0.5 - start)) / span - 1);
      if (away < 1) sum += value * (1 - away * Math.sqrt(away));
    }
    sum *= 1 - towardsMiddle * Math.abs((2 * step) / steps - 1);
    // Of two that are as good, the first: which one is a little better may be a decoder's rounding.
    if (sum <= most * 1.0002) continue;
    most = sum;
    chosen = step;
  }
  const [x, y] = across ? [chosen / steps, 0.5] : [0.5, chosen / steps];
  return { left: Math.floor(x * spareX), top: Math.floor(y * spareY) };
}

/** A picture of few pixels, on white, in light and two differences of colours, each about 0 to 1. */
interface Cells extends Size {
  channels: readonly [light: Float64Array, redGreen: Float64Array, yellowBlue: Float64Array];
  /** What a pixel matters by its colour alone. */
  colors: Float64Array;
}

/** The longest side of what is judged, and the pixels that one of its pixels is the mean of, across and down. */
const longest = 64;
const looks = 6;

/** Own code, and no library's: what is judged must not depend on the engine. */
function shrink({ data, width: w, height: h, channels }: Raster): Cells {
  const scale = Math.min(1, longest / Math.max(w, h));
  const width = Math.max(1, Math.round(w * scale));
  const height = Math.max(1, Math.round(h * scale));
  const across = Math.min(looks, Math.ceil(w / width));
  const down = Math.min(looks, Math.ceil(h / height));
  const sums = new Float64Array(width * height * 3);
  for (let row = 0; row < height * down; row++) {
    const from = Math.floor(((row + 0.5) / (height * down)) * h) * w;
    const first = Math.floor(row / down) * width * 3;
    for (let column = 0; column < width * across; column++) {
      const at = (from + Math.floor(((column + 0.5) / (width * across)) * w)) * channels;
      const alpha = channels === 3 ? 1 : (data[at + 3] as number) / 255;
      const to = first + Math.floor(column / across) * 3;
      for (let c = 0; c < 3; c++) {
        sums[to + c] = (sums[to + c] as number) + (data[at + c] as number) * alpha + 255 * (1 - alpha);
      }
    }
  }
  const empty = () => new Float64Array(width * height);
  const [light, redGreen, yellowBlue, colors] = [empty(), empty(), empty(), empty()];
  const mean = (at: number) => (sums[at] as number) / (255 * across * down);
  for (let i = 0; i < light.length; i++) {
    const [red, green, blue] = [mean(3 * i), mean(3 * i + 1), mean(3 * i + 2)];
    light[i] = 0.299 * red + 0.587 * green + 0.114 * blue;
    redGreen[i] = red - green;
    yellowBlue[i] = (red + green) / 2 - blue;
    colors[i] = colorWeight(red, green, blue);
  }
  return { width, height, channels: [light, redGreen, yellowBlue], colors };
}

/** Saturation, and nearness to smartcrop.js's colour of skin, which is of the same hue however dark. */
function colorWeight(red: number, green: number, blue: number): number {
  const saturation = Math.max(red, green, blue) - Math.min(red, green, blue);
  const length = Math.hypot(red, green, blue) || 1;
  const away = Math.hypot(red / length - 0.78, green / length - 0.57, blue / length - 0.44);
  const skin = Math.max(0, 1 - away / 0.2) * Math.min(1, length * 1.7) * Math.min(1, saturation / 0.08);
  return 0.3 * saturation * saturation + 0.4 * skin;
}

/** How near a colour must be to another to be about the same. */
const nearness = 0.1;
/** What a pixel matters that matters most, at least: else noise would be the subject of an empty picture. */
const strong = 0.2;

/**
 * What each pixel matters, 0 to 1. Edges, saturation and skin tones are those of smartcrop.js (Jonas Wagner) and of
 * libvips's attention; that colours which are rare along the picture's edges belong to its subject is Wei et al.'s
 * boundary prior (Geodesic Saliency, 2012). Blurred, and raised to a power so that the strongest place decides.
 */
function weigh({ width, height, channels, colors }: Cells): Float64Array {
  const around = (x: number, y: number) =>
    Math.min(height - 1, Math.max(0, y)) * width + Math.min(width - 1, Math.max(0, x));
  const border = channels.map((): number[] => []);
  for (let k = 0; k < 16; k++) {
    const [x, y] = [Math.floor(((k + 0.5) / 16) * width), Math.floor(((k + 0.5) / 16) * height)];
    for (const at of [around(x, 0), around(x, height), around(0, y), around(width, y)]) {
      for (const [c, channel] of channels.entries()) border[c]?.push(channel[at] as number);
    }
  }
  let weights = colors.map((weight, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    const near = [around(x + 1, y), around(x - 1, y), around(x, y + 1), around(x, y - 1)];
    const [light = 0, redGreen = 0, yellowBlue = 0] = channels.map((c) => {
      let edge = 4 * (c[i] as number);
      for (const at of near) edge -= c[at] as number;
      return Math.abs(edge);
    });
    const rare = Math.max(0, -Math.log(shareOf(border, channels, i) + 0.01));
    return weight + 0.5 * light + 0.25 * (redGreen + yellowBlue) + rare;
  });
  for (let pass = 0; pass < 3; pass++) {
    weights = weights.map((_, i) => {
      const [x, y] = [i % width, Math.floor(i / width)];
      let sum = 0;
      for (const down of [-1, 0, 1]) {
        for (const right of [-1, 0, 1]) sum += weights[around(x + right, y + down)] as number;
      }
      return sum / 9;
    });
  }
  const most = weights.reduce((one, other) => Math.max(one, other), strong);
  return weights.map((weight) => (weight / most) ** 4);
}

/** How much of the border is of about the colour of one pixel. */
function shareOf(border: readonly number[][], channels: Cells['channels'], i: number): number {
  const [lights = [], redGreens = [], yellowBlues = []] = border;
  const [light = 0, redGreen = 0, yellowBlue = 0] = channels.map((channel) => channel[i]);
  let same = 0;
  for (let k = 0; k < lights.length; k++) {
    const a = (lights[k] as number) - light;
    const b = (redGreens[k] as number) - redGreen;
    const c = (yellowBlues[k] as number) - yellowBlue;
    const away = 1 + (a * a + b * b + c * c) / nearness ** 2;
    same += 1 / (away * away);
  }
  return same / lights.length;
}
