// The package in one file, for every thread loads it: its 151 modules take longer.
import culori from 'culori/require';

const { formatHex, parse } = culori;

const hexDigits = /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/;
const functional = /^(?:rgb|hsl)a?\(/;
const hexWithAlpha = /^#(?:[0-9a-f]{4}|[0-9a-f]{8})$/;

/** `#rrggbb` of `#rgb` or `#rrggbb` in lower case, the `#` may be missing; undefined for anything else. */
export function parseHex(text: string): string | undefined {
  if (!hexDigits.test(text)) return undefined;
  const digits = text.replace('#', '');
  return `#${digits.length === 6 ? digits : digits.replace(/./g, '$&$&')}`;
}

/** Whether `text`, in lower case, has the form of a CSS colour function, right or not. */
export function isColorFunction(text: string): boolean {
  return functional.test(text);
}

/**
 * `#rrggbb` of a CSS `rgb()` or `hsl()`, comma or space separated, in lower case and without alpha; undefined where it
 * is not one. Components are clamped and rounded as in CSS Color 4, `none` is 0.
 */
export function parseColorFunction(text: string): string | undefined {
  // In a stylesheet the end of the text closes a bracket; here it is more likely that the rest was lost.
  const color = text.endsWith(')') ? parse(text) : undefined;
  if (color?.mode === 'rgb') {
    const { r = 0, g = 0, b = 0 } = color;
    return Number.isFinite(r + g + b) ? formatHex({ mode: 'rgb', r, g, b }) : undefined;
  }
  if (color?.mode === 'hsl') {
    const { h = 0, s = 0, l = 0 } = color;
    if (!Number.isFinite(h + s + l)) return undefined;
    return formatHex({ mode: 'hsl', h: h % 360, s: share(s), l: share(l) });
  }
  return undefined;
}

/** Whether `text`, in lower case, is a colour with an alpha value, in any CSS syntax, `transparent` among them. */
export function hasAlpha(text: string): boolean {
  if (text === 'transparent' || hexWithAlpha.test(text)) return true;
  return isColorFunction(text) && (text.includes('/') || text.split(',').length > 3);
}

function share(value: number): number {
  return Math.min(1, Math.max(0, value));
}
