import type { Size } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { paint } from './pictures.js';

type Color = readonly number[];
type Random = () => number;

/** A drawn picture, and the box of the one subject in it, in pixels. */
export interface Scene {
  name: string;
  raster: Raster;
  box: { left: number; top: number; right: number; bottom: number };
}

/** mulberry32: the same scenes in each run. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** CSS Color 4's conversion; hue from 0 to 1. */
function hsl(hue: number, saturation: number, light: number): Color {
  const part = (n: number) => {
    const k = (n + hue * 12) % 12;
    return 255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [part(0), part(8), part(4)];
}

const mix = (a: Color, b: Color, part: number) =>
  a.map((value, c) => value + ((b[c] as number) - value) * part);
const shade = (color: Color, factor: number) => color.map((value) => value * factor);

/** Smooth noise from 0 to 1 with so many cells along a side. */
function noise(random: Random, cells: number) {
  const values = Array.from({ length: (cells + 1) ** 2 }, random);
  const smooth = (t: number) => t * t * (3 - 2 * t);
  return (u: number, v: number) => {
    const [i, j] = [Math.min(cells - 1, Math.floor(u * cells)), Math.min(cells - 1, Math.floor(v * cells))];
    const [s, t] = [smooth(u * cells - i), smooth(v * cells - j)];
    const at = (x: number, y: number) => values[(j + y) * (cells + 1) + i + x] as number;
    return (at(0, 0) * (1 - s) + at(1, 0) * s) * (1 - t) + (at(0, 1) * (1 - s) + at(1, 1) * s) * t;
  };
}

const backgrounds: Record<string, (random: Random) => (u: number, v: number) => Color> = {
  plain(random) {
    const color = hsl(random(), random() * 0.6, 0.15 + random() * 0.75);
    return () => color;
  },
  gradient(random) {
    const [from, to] = [hsl(random(), random() * 0.6, 0.3), hsl(random(), random() * 0.6, 0.8)];
    return (u, v) => mix(from, to, (u + v) / 2);
  },
  landscape(random) {
    const [sky, ground] = [hsl(0.6, 0.3 + random() * 0.4, 0.75), hsl(0.1 + random() * 0.25, 0.4, 0.4)];
    const [horizon, hills, grain] = [0.35 + random() * 0.3, noise(random, 24), noise(random, 60)];
    return (u, v) =>
      v < horizon + 0.05 * (hills(u, 0.3) - 0.5)
        ? mix(sky, [255, 255, 255], 1 - v)
        : shade(ground, 0.75 + grain(u, v) / 2);
  },
  clouds(random) {
    const [from, to] = [hsl(random(), random() * 0.5, 0.35), hsl(random(), random() * 0.5, 0.65)];
    const [coarse, fine] = [noise(random, 5), noise(random, 11)];
    return (u, v) => mix(from, to, 0.7 * coarse(u, v) + 0.3 * fine(u, v));
  },
  grain(random) {
    const [color, grain] = [hsl(random(), random() * 0.4, 0.25 + random() * 0.5), noise(random, 200)];
    return (u, v) => color.map((value) => value + 80 * (grain(u, v) - 0.5));
  },
  bricks(random) {
    const [brick, rows] = [
      hsl(random(), random() * 0.5, 0.3 + random() * 0.4),
      8 + Math.floor(random() * 10),
    ];
    return (u, v) => {
      const [x, y] = [(u * rows * 1.5 + (Math.floor(v * rows) & 1) / 2) % 1, (v * rows) % 1];
      return x < 0.08 || y < 0.12 ? shade(brick, 0.7) : brick;
    };
  },
  leaves(random) {
    const [hue, fine, coarse] = [0.22 + random() * 0.15, noise(random, 40), noise(random, 9)];
    return (u, v) => hsl(hue, 0.3 + 0.3 * coarse(u, v), 0.22 + 0.35 * fine(u, v) * coarse(v, u));
  },
};

/** By x and y from -1 to 1 in the subject's box. */
const subjects: Record<string, (random: Random) => (x: number, y: number) => Color | undefined> = {
  disc: (random) => round(hsl(random(), 0.6 + random() * 0.4, 0.35 + random() * 0.35)),
  dark: (random) => round(hsl(random(), random() * 0.3, 0.1)),
  light: (random) => round(hsl(random(), random() * 0.3, 0.95)),
  sign(random) {
    const [inner, rim] = [hsl(random(), 0.4 + random() * 0.6, 0.3 + random() * 0.4), hsl(random(), 0.4, 0.5)];
    return (x, y) => (Math.max(Math.abs(x), Math.abs(y)) < 0.8 ? inner : rim);
  },
  checker(random) {
    const [one, other] = [hsl(random(), 0.3, 0.2), hsl(random(), 0.3, 0.85)];
    return (x, y) => ((Math.floor((x + 1) * 3) + Math.floor((y + 1) * 3)) & 1 ? one : other);
  },
  flower(random) {
    const petals = hsl((0.8 + random() * 0.4) % 1, 0.8, 0.55);
    return (x, y) => {
      const away = Math.hypot(x, y);
      if (away < 0.25) return [250, 210, 40];
      return away <= 0.75 + 0.25 * Math.cos(6 * Math.atan2(y, x)) ? petals : undefined;
    };
  },
  person(random) {
    const [skin, shirt] = [mix([255, 220, 185], [120, 75, 50], random() * 0.8), hsl(random(), 0.5, 0.4)];
    return (x, y) => {
      if (x ** 2 / 0.42 + (y + 0.35) ** 2 / 0.38 <= 1) {
        if (y < -0.65 || Math.hypot(Math.abs(x) - 0.25, y + 0.42) < 0.09) return [50, 35, 25];
        return skin;
      }
      return y > 0.2 && Math.abs(x) <= 0.4 + 0.6 * Math.min(1, (y - 0.2) * 2) ? shirt : undefined;
    };
  },
};

function round(color: Color) {
  return (x: number, y: number) => (x * x + y * y <= 1 ? color : undefined);
}

const sizes: readonly Size[] = [
  { width: 600, height: 400 },
  { width: 400, height: 600 },
  { width: 640, height: 360 },
  { width: 800, height: 300 },
  { width: 300, height: 700 },
];

/** How many scenes there are of each background with each subject, once. */
export const sceneCount = Object.keys(backgrounds).length * Object.keys(subjects).length;

/** One of any number of scenes: each background with each subject, then again with other colours, sizes and places. */
export function drawScene(index: number): Scene {
  const random = randomFrom(index * 7919 + 17);
  const [background, subject] = [Object.entries(backgrounds), Object.entries(subjects)];
  const [ground, drawGround] = background[index % background.length] as (typeof background)[0];
  const [kind, drawSubject] = subject[
    Math.floor(index / background.length) % subject.length
  ] as (typeof subject)[0];
  const { width, height } = sizes[(index + Math.floor(index / sceneCount)) % sizes.length] as Size;
  const [behind, inside] = [drawGround(random), drawSubject(random)];
  const half = Math.min(width, height) * (0.1 + 0.17 * random());
  const reach = half * (0.8 + 0.2 * random());
  const x = reach + 2 + random() * (width - 2 * reach - 4);
  const y = half + 2 + random() * (height - 2 * half - 4);
  const isInBox = (u: number, v: number) => Math.max(Math.abs(u), Math.abs(v)) <= 1;
  const raster = paint(width, height, (column, row) => {
    const [u, v] = [(column + 0.5 - x) / reach, (row + 0.5 - y) / half];
    const color =
      (isInBox(u, v) ? inside(u, v) : undefined) ?? behind((column + 0.5) / width, (row + 0.5) / height);
    return color.map((value) => Math.max(0, Math.min(255, Math.round(value))));
  });
  const box = { left: x - reach, top: y - half, right: x + reach, bottom: y + half };
  return { name: `${kind} on ${ground}`, raster, box };
}
