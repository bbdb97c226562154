import { defineHelper, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

const length = {
  type: ['integer', 'string'],
  measure: { minimum: 0, maximum: 5000, percent: true },
} as const;

export default defineHelper({
  summary: 'Adds a solid border of one colour to an image.',
  description:
    'Takes a JPEG, PNG, WebP, GIF or AVIF from `url` or from the multipart field `file` and returns it with a border of ' +
    '`width` on each side, so that it grows by twice that; `top`, `right`, `bottom` and `left` are widths of one side. With `inset` the border ' +
    'lies over the edges and the size stays. `radius` rounds the outer corners. The picture itself is turned upright and brought ' +
    'to sRGB, and its metadata is dropped. Transparent pictures keep a transparent inside, except in JPEG, which is ' +
    'laid on white. An animation stays one in WebP and, with `same`, in GIF; it gives its first frame otherwise. With `dryrun` nothing is ' +
    'downloaded or drawn: the answer shows the border, with the colour as #rrggbb.',
  source: 'image',
  input: {
    type: 'object',
    properties: {
      width: {
        ...length,
        default: 20,
        description:
          'Width of the border on each side: pixels, or per cent of the shorter side such as "5%".',
      },
      top: { ...length, description: 'Width at the top, in place of width.' },
      right: { ...length, description: 'Width on the right, in place of width.' },
      bottom: { ...length, description: 'Width at the bottom, in place of width.' },
      left: { ...length, description: 'Width on the left, in place of width.' },
      color: {
        type: 'string',
        color: true,
        maxLength: 100,
        default: '#000000',
        description:
          'Colour of the border: #rrggbb, #rgb, rgb(), hsl(), a CSS name or a phrase such as "dark sea green".',
      },
      radius: {
        ...length,
        default: 0,
        description: 'Rounds the outer corners; what lies outside is transparent, in JPEG white.',
      },
      inset: {
        type: 'boolean',
        default: false,
        description: 'Over the edges of the picture, whose size stays, in place of around it.',
      },
      ...pictureOutput,
    },
    onlyWith: pictureOutputRules,
  },
  examples: [
    { summary: 'A purple frame, as PNG', input: { width: 20, color: 'purple' } },
    { summary: 'A thin dark frame, as WebP', input: { width: 4, color: 'dark slate gray', format: 'webp' } },
    {
      summary: 'White, wide below, with round corners',
      input: { width: '3%', bottom: '12%', radius: '2%', color: 'white' },
    },
  ],
  dryrun: ({ url, width, color, format, radius, inset, ...others }) => ({
    source_url: url ?? null,
    border_width: width,
    color,
    format,
    ...others,
    ...(radius === 0 ? {} : { radius }),
    ...(inset ? { inset } : {}),
  }),
  handler: ({ width, top, right, bottom, left, color, radius, inset, format, quality }, { image }) =>
    image.border({ width, top, right, bottom, left, color, radius, inset }).encode(format, { quality }),
});
