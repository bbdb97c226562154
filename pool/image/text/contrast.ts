/** The inks that are chosen between. */
export type Ink = 'black' | 'white';

export const inkColors = { black: '#000000', white: '#ffffff' } as const satisfies Record<Ink, string>;

/** What a channel's light counts in relative luminance. */
export const weights = { red: 0.2126, green: 0.7152, blue: 0.0722 };

/** Light of an 8 bit value of a channel, 0 to 1, as relative luminance adds it up (WCAG 2, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance). */
export function linear(value: number): number {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

/** Contrast ratio of two relative luminances, 1 to 21 (WCAG 2). */
export function contrastOf(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** Relative luminance of `#rrggbb`, 0 to 1. */
export function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = Buffer.from(color.slice(1), 'hex');
  return weights.red * linear(red) + weights.green * linear(green) + weights.blue * linear(blue);
}

/** Black or white, whichever stands out from a colour, `#rrggbb`. */
export function standsOutFrom(color: string): Ink {
  const light = luminanceOf(color);
  return contrastOf(light, 0) >= contrastOf(light, 1) ? 'black' : 'white';
}
