import { defineHelper } from 'helper-gateway/helper';

export default defineHelper({
  summary: 'Adds a solid border of one colour to an image.',
  description:
    'Takes a JPEG, PNG, WebP or GIF from `url` or from the multipart field `file` and returns it with a border of ' +
    '`width` pixels on each side, so that it grows by twice that. The picture itself is turned upright and brought ' +
    'to sRGB, and its metadata is dropped. Transparent pictures keep a transparent inside, except in JPEG, which is ' +
    'laid on white. An animation stays one in WebP and gives its first frame otherwise. With `dryrun` nothing is ' +
    'downloaded or drawn: the answer tells the border, with the colour as #rrggbb.',
  source: 'image',
  input: {
    type: 'object',
    properties: {
      width: {
        type: 'integer',
        minimum: 0,
        maximum: 5000,
        default: 20,
        description: 'Width of the border in pixels, on each side.',
      },
      color: {
        type: 'string',
        color: true,
        maxLength: 100,
        default: '#000000',
        description:
          'Colour of the border: #rrggbb, #rgb, rgb(), hsl(), a CSS name or a phrase such as "dark sea green".',
      },
      format: {
        type: 'string',
        choice: { png: [], jpg: ['jpeg'], webp: [] },
        default: 'png',
        description: 'Format of the result.',
      },
    },
  },
  examples: [
    { summary: 'A purple frame, as PNG', input: { width: 20, color: 'purple' } },
    { summary: 'A thin dark frame, as WebP', input: { width: 4, color: 'dark slate gray', format: 'webp' } },
  ],
  dryrun: ({ url, width, color, format }) => ({
    source_url: url ?? null,
    border_width: width,
    color,
    format,
  }),
  handler: ({ width, color, format }, { image }) => image.border({ width, color }).encode(format),
});
