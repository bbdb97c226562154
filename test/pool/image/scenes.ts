/** Noise that is the same each time, 0 to 1. */
function random(x: number, y: number): number {
  const mixed = Math.sin(x * 127.1 + y * 311.7) * 43758.5453;
  return mixed - Math.floor(mixed);
}

/** Noise as of clouds and grass: four octaves between the corners of squares. */
function clouds(x: number, y: number): number {
  let sum = 0;
  for (const [size, share] of [
    [64, 0.5],
    [32, 0.25],
    [16, 0.15],
    [4, 0.1],
  ] as const) {
    const [left, top] = [Math.floor(x / size), Math.floor(y / size)];
    const [across, down] = [x / size - left, y / size - top];
    const above = random(left, top) * (1 - across) + random(left + 1, top) * across;
    const below = random(left, top + 1) * (1 - across) + random(left + 1, top + 1) * across;
    sum += share * (above * (1 - down) + below * down);
  }
  return sum;
}

const between = (one: readonly number[], other: readonly number[], share: number) =>
  one.map((value, i) => Math.round(value + ((other[i] as number) - value) * share));

type Scene = (x: number, y: number) => readonly number[];

/** What pictures show, drawn by a formula: plain colours, patterns, and what photographs are like where a watermark goes. */
export const scenes: Record<string, Scene> = {
  white: () => [255, 255, 255],
  black: () => [0, 0, 0],
  'middle grey': () => [128, 128, 128],
  'the grey on which black and white differ least': () => [118, 118, 118],
  red: () => [255, 0, 0],
  'the blue of a screen': () => [0, 0, 255],
  green: () => [0, 255, 0],
  'a gradient across': (x) => between([0, 0, 0], [255, 255, 255], x / 420),
  'a sunset': (_, y) => between([40, 20, 80], [255, 150, 60], y / 320),
  noise: (x, y) => [random(x, y), random(y, x + 7), random(x + 3, y)].map((part) => Math.round(part * 255)),
  'a board of black and white pixels': (x, y) => ((x + y) % 2 ? [255, 255, 255] : [0, 0, 0]),
  'a night with stars': (x, y) => (random(x, y) > 0.88 ? [255, 255, 255] : [4, 6, 20]),
  'print on paper': (x, y) => (y % 14 < 9 && random(x, y) > 0.6 ? [20, 20, 20] : [250, 248, 240]),
  'a meadow': (x, y) => between([20, 50, 10], [120, 160, 60], clouds(x, y) * 0.7 + random(x, y) * 0.3),
  'a beach': (x, y) => between([150, 120, 80], [245, 230, 200], clouds(x, y)),
  'a forest in the sun': (x, y) => between([5, 15, 5], [230, 240, 150], clouds(x, y) ** 3),
  'clouds half transparent': (x, y) => [
    ...between([60, 90, 160], [250, 250, 255], clouds(x, y)),
    Math.round(clouds(y, x) * 255),
  ],
};
