// The package in one file, because every thread loads it: its 151 modules would need longer.
import culori from 'culori/require';
import { closedObject, isObject } from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { quote } from '../quote.js';
import { nearestPhrase, parsePhrase } from './color-phrase.js';
import { isAuto, type Keyword, type Normalised, withMore } from './keyword.js';

const { formatHex, parse } = culori;

const hexDigits = /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/;
/** The form of a CSS colour function, right or not. */
const functional = /^(?:rgb|hsl)a?\(/;
const hexWithAlpha = /^#(?:[0-9a-f]{4}|[0-9a-f]{8})$/;

/** `#rrggbb` of `#rgb` or `#rrggbb` in lower case, the `#` may be missing; undefined for anything else. */
function parseHex(text: string): string | undefined {
  if (!hexDigits.test(text)) return undefined;
  const digits = text.replace('#', '');
  return `#${digits.length === 6 ? digits : digits.replace(/./g, '$&$&')}`;
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
  if (color?.mode !== 'hsl') return undefined;
  const { h = 0, s = 0, l = 0 } = color;
  const clamp = (share: number) => Math.min(1, Math.max(0, share));
  return Number.isFinite(h + s + l)
    ? formatHex({ mode: 'hsl', h: h % 360, s: clamp(s), l: clamp(l) })
    : undefined;
}

/** Whether `text`, in lower case, is a colour with an alpha value, in any CSS syntax, `transparent` among them. */
function hasAlpha(text: string): boolean {
  if (text === 'transparent' || hexWithAlpha.test(text)) return true;
  return functional.test(text) && (text.includes('/') || text.split(',').length > 3);
}

const longestColor = 100;

const colorForm =
  'a solid colour: #rgb, #rrggbb, rgb(), hsl(), a CSS name or a phrase such as "pale warm yellow"';

/**
 * Reads a colour of at most 100 characters in any case: `#rgb` and `#rrggbb` (the `#` may be missing), CSS `rgb()` and
 * `hsl()` in both syntaxes, a CSS name, a listed colour name, or modifiers with one of these names. It becomes `#rrggbb`
 * in lower case. Alpha in any form is refused: what is drawn is solid. `form` is what problems say is allowed.
 */
export function parseColor(text: string, form = colorForm): Normalised {
  if (text.length > longestColor) {
    return { problem: `must be ${form}, of at most ${longestColor} characters, but has ${text.length}` };
  }
  const plain = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (hasAlpha(plain)) {
    return { problem: `must be a solid colour, without alpha, but is the string ${quote(text)}` };
  }
  const value = parseHex(plain) ?? (functional.test(plain) ? parseColorFunction(plain) : parsePhrase(plain));
  if (value !== undefined) return { value };
  const hint = () => {
    const meant = nearestPhrase(plain);
    return meant === undefined ? '' : `; did you mean "${meant}"?`;
  };
  return { problem: `must be ${form}, but is the string ${quote(text)}`, hint };
}

/** Alpha, which `color` refuses, needs a fourth part or a slash. Phrases hold none of these characters. */
const colorPattern =
  '^\\s*(?:#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})|(?:[Rr][Gg][Bb]|[Hh][Ss][Ll])[Aa]?\\([^/]*\\)|[^#/()]+)\\s*$';

/** Colours that a person may think of; thousands of names are known. */
const familiar = 'black white gray red orange gold green teal blue navy purple pink tomato steelblue'.split(
  ' ',
);
/** One of each form. */
const samples = ['#000', 'ffcc00', '#12aB9f', 'rgb(1, 2, 3)', 'hsl(120 50% 50%)', 'tomato', 'dark sea green'];

type ColorSetting = true | { auto: true };

/**
 * `color: true` on a string: a solid colour in any form that `parseColor` reads; becomes `#rrggbb` in lower case. With
 * `color: { auto: true }` the word `auto` passes too, in any case, as `auto`.
 */
export const color: Keyword<ColorSetting> = {
  name: 'color',
  type: 'string',
  metaSchema: { anyOf: [{ const: true }, closedObject({ auto: { const: true } })] },
  accepts: (setting) => setting === true || (isObject(setting) && setting.auto === true),
  prepare(setting) {
    const form = describeColor(setting);
    return (text) => {
      if (setting !== true && isAuto(text)) return { value: 'auto' };
      const parsed = parseColor(text, form);
      if (setting === true || 'value' in parsed) return parsed;
      return { ...parsed, hint: () => didYouMean(text, ['auto']) || (parsed.hint?.() ?? '') };
    };
  },
  describe: describeColor,
  standard: (_, plain) => withMore(plain, { pattern: colorPattern }),
  control: (setting) => ({ kind: 'color', auto: setting !== true }),
  suggestions: (setting) => [...(setting === true ? [] : ['auto']), ...familiar],
  samples(setting, type, _, fc) {
    if (type !== 'string') return undefined;
    return fc.constantFrom(...samples, ...(setting === true ? [] : ['auto', 'Auto']));
  },
};

function describeColor(setting: ColorSetting): string {
  return setting === true ? colorForm : `auto, or ${colorForm}`;
}
