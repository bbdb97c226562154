/** What a modifier does to a colour in OKLCH, the lightness running from 0 to 1. */
export interface Modifier {
  /** Moves the lightness towards `to` by this share of the way; with `only`, never down. */
  lightness?: { to: number; by: number; only?: 'up' };
  /** Factor of the chroma. */
  chroma?: number;
  /** Mixes in this share of another colour, in OKLab. */
  mix?: { hex: string; by: number };
  /** Turns the hue towards this one, an angle in HSL, by up to 12 degrees; a grey gets a trace of it. */
  towards?: number;
}

function mixed(hex: string, by = 0.25): Modifier {
  return { mix: { hex, by } };
}

const greyish: Modifier = { chroma: 0.45 };
const cool: Modifier = { towards: 210 };
const orangish = mixed('#ff8000');
const purplish = mixed('#800080');

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
  ['whitish', mixed('#ffffff', 0.6)],
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
  ['reddish', mixed('#ff0000')],
  ['orangish', orangish],
  ['orangeish', orangish],
  ['yellowish', mixed('#ffff00')],
  ['greenish', mixed('#00a000')],
  ['bluish', mixed('#0000ff')],
  ['blueish', mixed('#0000ff')],
  ['purplish', purplish],
  ['purpleish', purplish],
  ['violetish', mixed('#8000ff')],
  ['pinkish', mixed('#ff80b0')],
  ['brownish', mixed('#8b5a2b')],
]);

/** Words that change the strength of the modifier after them: so many times, or in part. */
export const intensifiers: ReadonlyMap<string, number> = new Map([
  ['very', 2],
  ['extremely', 3],
  ['slightly', 0.5],
  ['somewhat', 0.5],
]);
