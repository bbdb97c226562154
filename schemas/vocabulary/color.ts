import { isObject } from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { isAuto } from './auto.js';
import { colorForm, parseColor } from './color/parse-color.js';
import { normalisingKeyword } from './keyword.js';

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
