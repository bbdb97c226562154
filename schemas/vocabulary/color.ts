import { parseColor } from './color/parse-color.js';
import { normalisingKeyword } from './keyword.js';

/** `color: true` on a string: a solid colour in any form that `parseColor` reads; becomes `#rrggbb` in lower case. */
export const colorKeyword = normalisingKeyword({
  keyword: 'color',
  type: 'string',
  metaSchema: { const: true },
  prepare: () => (value) => {
    const color = parseColor(value as string);
    return color.ok ? { ok: true, value: color.hex } : color;
  },
});
