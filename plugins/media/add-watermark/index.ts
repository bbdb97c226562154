import { defineHelper } from 'helper-gateway/helper';

export default defineHelper({
  summary: 'Writes semi-transparent text into a corner of an image.',
  description:
    'Takes a JPEG, PNG, WebP or GIF from `url` or from the multipart field `file` and returns it with one line of ' +
    'text in a corner. The text is drawn as given, right-to-left scripts included; a character that no loaded font ' +
    'can draw is refused. It keeps half its font size from the edges, at most a twentieth of the shorter side, and ' +
    'is shrunk where it would not fit. The picture is turned upright and brought to sRGB, and its metadata is ' +
    'dropped. An animation stays one in WebP and gives its first frame otherwise. With `dryrun` nothing is ' +
    'downloaded or drawn, `text` may be missing, and the answer tells the parameters as they were understood.',
  source: 'image',
  input: {
    type: 'object',
    required: ['text'],
    properties: {
      text: {
        type: 'string',
        minLength: 1,
        maxLength: 500,
        drawable: true,
        description: 'The line to write.',
      },
      position: {
        type: 'string',
        choice: {
          'bottom-right': ['br'],
          'bottom-left': ['bl'],
          'top-right': ['tr'],
          'top-left': ['tl'],
        },
        default: 'bottom-right',
        description: 'The corner.',
      },
      opacity: {
        type: ['number', 'string'],
        fraction: true,
        default: 0.5,
        description: 'From 0 (invisible) to 1 (solid); also as per cent: "50%", or a number from 2 to 100.',
      },
      font_size: {
        type: 'integer',
        minimum: 4,
        maximum: 1000,
        default: 32,
        description: 'Font size in pixels, at most: the line is shrunk to fit inside the image.',
      },
      color: {
        type: 'string',
        color: true,
        maxLength: 100,
        default: '#ffffff',
        description:
          'Colour of the text: #rrggbb, #rgb, rgb(), hsl(), a CSS name or a phrase such as "pale warm yellow".',
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
    { summary: 'White, half transparent, bottom right', input: { text: '© Example 2026', format: 'jpg' } },
    {
      summary: 'Large and solid in another corner',
      input: { text: 'Draft', position: 'tl', opacity: '80%', font_size: 96, color: 'crimson' },
    },
  ],
  dryrun: ({ url, text, position, opacity, font_size, color, format }) => ({
    operation: 'add-watermark',
    source_url: url ?? null,
    text: text ?? null,
    position,
    opacity,
    font_size,
    color,
    format,
  }),
  handler: ({ text, position, opacity, font_size, color, format }, { image }) =>
    image.watermark({ text, position, opacity, fontSize: font_size, color }).encode(format),
});
