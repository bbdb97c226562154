import culori from 'culori/require';
import { isObject } from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { quote } from '../quote.js';
import { nearestPhrase, parsePhrase } from './color-phrase.js';
import { isAuto, normalisingKeyword } from './keyword.js';

// The package in one file, for every thread loads it: its 151 modules take longer.

const { formatHex, parse } = culori;

const hexDigits = /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/;
const functional = /^(?:rgb|hsl)a?\(/;
const hexWithAlpha = /^#(?:[0-9a-f]{4}|[0-9a-f]{8})$/;

/** `#rrggbb` of `#rgb` or `#rrggbb` in lower case, the `#` may be missing; undefined for anything else. */
function parseHex(text: string): string | undefined {
  if (!hexDigits.test(text)) return undefined;
  const digits = text.replace('#', '');
  return `#${digits.length === 6 ? digits : digits.replace(/./g, '$&$&')}`;
}

/** Whether `text`, in lower case, has the form of a CSS colour function, right or not. */
function isColorFunction(text: string): boolean {
  return functional.test(text);
}

/**
 * `#rrggbb` of a CSS `rgb()` or `hsl()`, comma or space separated, in lower case and without alpha; undefined where it
 * is not one. Components are clamped and rounded as in CSS Color 4, `none` is 0.
 */
function parseColorFunction(text: string): string | undefined {
  // In a stylesheet the end of the text closes a bracket; here it is more likely that the rest was lost.
  const color = text.endsWith(')') ? parse(text) : undefined;
  if (color?.mode === 'rgb') {
    const { r = 0, g = 0, b = 0 } = color;
    return Number.isFinite(r + g + b) ? formatHex({ mode: 'rgb', r, g, b }) : undefined;
  }
  if (color?.mode === 'hsl') {
    const { h = 0, s = 0, l = 0 } = color;
    if (!Number.isFinite(h + s + l)) return undefined;
    return formatHex({ mode: 'hsl', h: h % 360, s: clampShare(s), l: clampShare(l) });
  }
  return undefined;
}

/** Whether `text`, in lower case, is a colour with an alpha value, in any CSS syntax, `transparent` among them. */
function hasAlpha(text: string): boolean {
  if (text === 'transparent' || hexWithAlpha.test(text)) return true;
  return isColorFunction(text) && (text.includes('/') || text.split(',').length > 3);
}

function clampShare(value: number): number {
  return Math.min(1, Math.max(0, value));
}

const longestColor = 100;

/** What a colour may be, for messages and documentation. */
const colorForm =
  'a solid colour: #rgb, #rrggbb, rgb(), hsl(), a CSS name or a phrase such as "pale warm yellow"';

/** The colour, or what is wrong with the text and, on demand, what it is near to. */
type ParsedColor = { ok: true; hex: `#${string}` } | { ok: false; problem: string; hint?: () => string };

/**
 * Reads a colour of at most 100 characters in any case: `#rgb` and `#rrggbb` (the `#` may be missing), CSS `rgb()` and
 * `hsl()` in both syntaxes, a CSS name, a listed colour name, or modifiers with one of these names. `hex` is `#rrggbb`
 * in lower case. Alpha in any form is refused: what is drawn is solid. `form` is what problems say is allowed.
 */
export function parseColor(text: string, form = colorForm): ParsedColor {
  if (text.length > longestColor) {
    return refuseColor(`must be ${form}, of at most ${longestColor} characters, but has ${text.length}`);
  }
  const plain = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (hasAlpha(plain)) {
    return refuseColor(`must be a solid colour, without alpha, but is the string ${quote(text)}`);
  }
  const hex = parseHex(plain) ?? (isColorFunction(plain) ? parseColorFunction(plain) : parsePhrase(plain));
  if (hex === undefined) {
    return refuseColor(`must be ${form}, but is the string ${quote(text)}`, () => {
      const meant = nearestPhrase(plain);
      return meant === undefined ? '' : `; did you mean "${meant}"?`;
    });
  }
  return { ok: true, hex: hex as `#${string}` };
}

function refuseColor(problem: string, hint?: () => string): ParsedColor {
  return hint === undefined ? { ok: false, problem } : { ok: false, problem, hint };
}

/** Whether a schema's `color` lets the word `auto` stand in a colour's place. */
export function takesAutoColor(setting: unknown): boolean {
  return isObject(setting) && setting.auto === true;
}

/** What `color` with this setting allows; undefined where it is none. */
export function colorFormOf(setting: unknown): string | undefined {
  if (setting === true) return colorForm;
  return takesAutoColor(setting) ? `auto, or ${colorForm}` : undefined;
}

/**
 * `color: true` on a string: a solid colour in any form that `parseColor` reads; becomes `#rrggbb` in lower case. With
 * `color: { auto: true }` the word `auto` passes too, in any case, as `auto`.
 */
export const colorKeyword = normalisingKeyword({
  keyword: 'color',
  type: 'string',
  metaSchema: {
    anyOf: [
      { const: true },
      {
        type: 'object',
        required: ['auto'],
        additionalProperties: false,
        properties: { auto: { const: true } },
      },
    ],
  },
  prepare(setting) {
    const takesAuto = takesAutoColor(setting);
    const form = colorFormOf(setting);
    return (value) => {
      const text = value as string;
      if (takesAuto && isAuto(text)) return { ok: true, value: 'auto' };
      const color = parseColor(text, form);
      if (color.ok) return { ok: true, value: color.hex };
      if (!takesAuto) return color;
      return { ...color, hint: () => didYouMean(text, ['auto']) || (color.hint?.() ?? '') };
    };
  },
});
