import culori, { type Rgb } from 'culori/require';

/** What a modifier does to a colour in OKLCH, the lightness running from 0 to 1. */
export interface Modifier {
  /** Moves the lightness towards `to` by this share of the way; with `only`, never down. */
  lightness?: { to: number; by: number; only?: 'up' };
  /** Factor of the chroma. */
  chroma?: number;
  /** Mixes in this share of another colour, in OKLab. */
  mix?: { hex: string; by: number };
  /** Rotates the hue towards this one, an angle in HSL, by up to 12 degrees; a grey gets a trace of it. */
  towards?: number;
}

function mixing(hex: string, by = 0.25): Modifier {
  return { mix: { hex, by } };
}

const greyish: Modifier = { chroma: 0.45 };
const cool: Modifier = { towards: 210 };
const orangish = mixing('#ff8000');
const purplish = mixing('#800080');

/**
 * The modifiers of a colour phrase. The words are those of the ISCC-NBS system (Kelly and Judd, "Color: Universal
 * Language and Dictionary of Names", NBS SP 440, 1976) with everyday ones; ISCC-NBS says in which direction of lightness
 * and saturation each lies, the amounts are ours, chosen by eye.
 */
export const modifiers: ReadonlyMap<string, Modifier> = new Map<string, Modifier>([
  ['light', { lightness: { to: 1, by: 0.45 }, chroma: 0.8 }],
  ['pale', { lightness: { to: 0.96, by: 0.65 }, chroma: 0.6 }],
  ['faint', { lightness: { to: 0.97, by: 0.8 }, chroma: 0.35 }],
  ['pastel', { lightness: { to: 0.88, by: 0.75 }, chroma: 0.5 }],
  ['whitish', mixing('#ffffff', 0.6)],
  ['soft', { lightness: { to: 0.8, by: 0.4 }, chroma: 0.6 }],
  ['faded', { lightness: { to: 0.78, by: 0.4 }, chroma: 0.45 }],
  ['dusty', { lightness: { to: 0.68, by: 0.4 }, chroma: 0.45 }],
  ['bright', { lightness: { to: 0.72, by: 0.4, only: 'up' }, chroma: 1.3 }],
  ['brilliant', { lightness: { to: 0.82, by: 0.55, only: 'up' }, chroma: 1.2 }],
  ['vivid', { lightness: { to: 0.65, by: 0.15 }, chroma: 1.5 }],
  ['strong', { lightness: { to: 0.55, by: 0.3 }, chroma: 1.3 }],
  ['rich', { lightness: { to: 0.35, by: 0.25 }, chroma: 1.2 }],
  ['medium', { lightness: { to: 0.6, by: 0.3 }, chroma: 0.85 }],
  ['moderate', { lightness: { to: 0.6, by: 0.3 }, chroma: 0.7 }],
  ['deep', { lightness: { to: 0, by: 0.3 }, chroma: 1.1 }],
  ['dark', { lightness: { to: 0, by: 0.4 }, chroma: 0.85 }],
  ['blackish', { lightness: { to: 0, by: 0.6 }, chroma: 0.4 }],
  ['dull', { lightness: { to: 0.5, by: 0.1 }, chroma: 0.5 }],
  ['muted', { lightness: { to: 0.55, by: 0.1 }, chroma: 0.6 }],
  ['greyish', greyish],
  ['grayish', greyish],
  ['warm', { towards: 30 }],
  ['cool', cool],
  ['cold', cool],
  ['reddish', mixing('#ff0000')],
  ['orangish', orangish],
  ['orangeish', orangish],
  ['yellowish', mixing('#ffff00')],
  ['greenish', mixing('#00a000')],
  ['bluish', mixing('#0000ff')],
  ['blueish', mixing('#0000ff')],
  ['purplish', purplish],
  ['purpleish', purplish],
  ['violetish', mixing('#8000ff')],
  ['pinkish', mixing('#ff80b0')],
  ['brownish', mixing('#8b5a2b')],
]);

/** Words that change the strength of the modifier after them: so many times, or in part. */
export const intensifiers: ReadonlyMap<string, number> = new Map([
  ['very', 2],
  ['extremely', 3],
  ['slightly', 0.5],
  ['somewhat', 0.5],
]);

const { clampChroma, clampRgb, converter, formatHex } = culori;

type Oklch = { mode: 'oklch'; l: number; c: number; h: number };

const toOklch = converter('oklch');
const toOklab = converter('oklab');
const toHsl = converter('hsl');
const toRgb = converter('rgb');

const largestRotation = 12;
const colorless = 0.005;
const outsideSrgb = 0.4;
const roundingError = 0.002;

/**
 * `#rrggbb` of the colour `hex` changed by `modifier`, `strength` times: 2 is twice, 0.5 is half of the change. OKLCH
 * is Björn Ottosson's (2020); what leaves sRGB comes back by losing chroma.
 */
export function modifyColor(hex: string, modifier: Modifier, strength: number): string {
  let color = fromHex(hex);
  for (let left = strength; left > 0; left -= 1) color = changeOnce(color, modifier, Math.min(left, 1));
  return formatHex(intoSrgb(color));
}

function changeOnce(from: Oklch, modifier: Modifier, part: number): Oklch {
  let color = from;
  if (modifier.mix) {
    const grey = color.c < colorless;
    // A grey shows a foreign hue at once, so it gets less of it.
    const share = modifier.mix.by * part * (grey ? 0.6 : 1);
    color = mix(grey ? withinLightness(color) : color, modifier.mix.hex, share);
  }
  if (modifier.towards !== undefined) color = rotateHue(color, modifier.towards, part);
  if (modifier.lightness) {
    const { to, by, only } = modifier.lightness;
    const change = (to - color.l) * by * part;
    if (change > 0 || only !== 'up') color = relight(color, color.l + change);
  }
  return { ...color, c: color.c * (modifier.chroma ?? 1) ** part };
}

function mix(color: Oklch, hex: string, share: number): Oklch {
  const one = toOklab(color);
  const other = toOklab(fromHex(hex));
  const between = (a: number, b: number) => a + (b - a) * share;
  const [l, a, b] = [between(one.l, other.l), between(one.a, other.a), between(one.b, other.b)];
  return asOklch({ mode: 'oklab', l, a, b });
}

function rotateHue(color: Oklch, towards: number, part: number): Oklch {
  if (color.c < colorless) {
    const { h } = asOklch({ mode: 'hsl', h: towards, s: 1, l: 0.5 });
    return { ...withinLightness(color), c: 0.022 * part, h };
  }
  // In HSL, where every hue has its own full colour: in OKLCH a yellow rotated to orange keeps its lightness and becomes cream.
  const { h = 0, s, l } = toHsl(intoSrgb(color));
  const angle = ((towards - h + 540) % 360) - 180;
  const rotated = h + Math.sign(angle) * Math.min(Math.abs(angle), largestRotation * part);
  return asOklch({ mode: 'hsl', h: rotated, s, l });
}

function intoSrgb(color: Oklch): Rgb {
  const rgb = toRgb(color);
  const outside = Math.max(rgb.r - 1, rgb.g - 1, rgb.b - 1, -rgb.r, -rgb.g, -rgb.b);
  // sRGB's own corners come back from OKLCH a rounding error outside; for blue, the chroma lost over that would show.
  return outside < roundingError ? clampRgb(rgb) : toRgb(clampChroma(color, 'oklch'));
}

/** White and black cannot have a hue. */
function withinLightness(color: Oklch): Oklch {
  return { ...color, l: Math.min(0.97, Math.max(0.2, color.l)) };
}

/**
 * Changes the lightness. The chroma becomes the geometric mean of what it was and of the same share of sRGB's greatest
 * chroma at the new lightness: the first alone makes a dark pink grey, the second alone makes a dark snow red.
 */
function relight(color: Oklch, lightness: number): Oklch {
  if (color.c < colorless) return { ...color, l: lightness };
  const before = greatestChroma(color.l, color.h);
  const share = before > 0 ? Math.min(1, color.c / before) : 0;
  return { ...color, l: lightness, c: Math.sqrt(color.c * share * greatestChroma(lightness, color.h)) };
}

function greatestChroma(l: number, h: number): number {
  return clampChroma({ mode: 'oklch', l, c: outsideSrgb, h }, 'oklch').c;
}

function fromHex(hex: string): Oklch {
  const part = (start: number) => Number.parseInt(hex.slice(start, start + 2), 16) / 255;
  return asOklch({ mode: 'rgb', r: part(1), g: part(3), b: part(5) });
}

function asOklch(color: Parameters<typeof toOklch>[0] & object): Oklch {
  const { l, c, h = 0 } = toOklch(color);
  return { mode: 'oklch', l, c: c < colorless ? 0 : c, h };
}
