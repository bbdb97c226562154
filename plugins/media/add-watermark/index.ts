import { defineHelper, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

export default defineHelper({
  summary: 'Writes a text or lays a logo on an image.',
  description:
    'Takes a JPEG, PNG, WebP, GIF or AVIF from `url` or from the multipart field `file` and returns it with a mark: `text`, or a ' +
    'logo from `mark_url` or the field `mark`. By default the mark is half transparent and lies in the bottom right corner. It is ' +
    'shrunk where it would not fit inside the margins; `tile` covers the whole picture with it. A text is drawn as given, ' +
    'right-to-left scripts included; a character that no loaded font can draw is refused. A logo keeps its transparency, and of ' +
    'an animated one the first frame is used. The picture is turned upright and brought to sRGB, and its metadata is dropped. ' +
    'An animation stays one in WebP and, with `same`, in GIF; it gives its first frame otherwise. With `dryrun` nothing is downloaded ' +
    'or drawn, text and logo may be missing, and the answer shows the parameters as they were understood.',
  source: 'image',
  files: {
    mark: {
      kind: 'image',
      parameter: 'mark_url',
      insteadOf: 'text',
      notWith: ['font_size', 'color', 'outline', 'wrap', 'max_lines'],
      options: ['scale'],
      description: 'A logo.',
    },
  },
  input: {
    type: 'object',
    onlyWith: { ...pictureOutputRules, max_lines: { wrap: [true] }, spacing: { tile: [true] } },
    properties: {
      text: {
        type: 'string',
        minLength: 1,
        maxLength: 500,
        drawable: true,
        description: 'The text to write.',
      },
      position: {
        type: 'string',
        choice: {
          'bottom-right': ['br'],
          'bottom-left': ['bl'],
          'top-right': ['tr'],
          'top-left': ['tl'],
          center: ['c'],
        },
        default: 'bottom-right',
        description: 'A corner, or the centre. Lines of text are flush with its side.',
      },
      opacity: {
        type: ['number', 'string'],
        fraction: true,
        default: 0.5,
        description: 'From 0 (invisible) to 1 (solid); also as per cent: "50%", or a number from 2 to 100.',
      },
      margin: {
        type: ['integer', 'string'],
        measure: { minimum: 0, maximum: 5000, percent: true, auto: true },
        default: 'auto',
        description:
          'Distance from the edges: pixels, per cent of the shorter side, or auto: a twentieth of that, for text no more than half ' +
          'its font size. A tenth of each side is always left to the mark.',
      },
      rotate: {
        type: 'number',
        minimum: -360,
        maximum: 360,
        default: 0,
        description: 'Degrees clockwise by which the mark is turned.',
      },
      tile: {
        type: 'boolean',
        default: false,
        description:
          'Covers all of the picture with copies of the mark; position and margin do not count then.',
      },
      spacing: {
        type: ['integer', 'string'],
        measure: { minimum: 0, maximum: 5000, percent: true, auto: true },
        default: 'auto',
        description:
          'Distance between tiles: pixels, per cent of the shorter side, or auto: half the longer side of the turned mark, ' +
          'at least a twentieth of the shorter side of the picture.',
      },
      scale: {
        type: ['number', 'string'],
        fraction: true,
        minimum: 0.01,
        default: 0.2,
        description:
          'Width of a logo, as a fraction of the picture’s; also as per cent. It keeps its proportions.',
      },
      font_size: {
        type: ['integer', 'string'],
        measure: { minimum: 4, maximum: 1000, auto: true },
        default: 'auto',
        description:
          'Font size in pixels, at most: the text is shrunk to fit inside the image. auto: a twentieth of the shorter side, at least 12.',
      },
      color: {
        type: 'string',
        color: { auto: true },
        maxLength: 100,
        default: 'auto',
        description:
          'Colour of the text: #rrggbb, #rgb, rgb(), hsl(), a CSS name or a phrase such as "pale warm yellow"; or auto: black or ' +
          'white, whichever stands out more from the pixels that it lies on.',
      },
      outline: {
        type: ['integer', 'string'],
        measure: { minimum: 0, maximum: 100 },
        default: 0,
        description:
          'Width in pixels of a line around the letters, black or white, whichever stands out from their colour. It is shrunk with the text.',
      },
      wrap: {
        type: 'boolean',
        default: false,
        description:
          'Breaks the text into lines as wide as the image has room for; only lines that are too many for its height are shrunk.',
      },
      max_lines: {
        type: 'integer',
        minimum: 1,
        maximum: 50,
        default: 10,
        description: 'Lines at most; the last of more ends in an ellipsis.',
      },
      ...pictureOutput,
    },
  },
  examples: [
    { summary: 'Half transparent, bottom right', input: { text: '© Example 2026', format: 'jpg' } },
    {
      summary: 'All over the picture',
      input: { text: 'Draft', tile: true, rotate: -30, opacity: '30%', color: 'crimson' },
    },
    {
      summary: 'In lines, with an outline',
      input: {
        text: 'Property of the Example Archive. Not for reproduction.',
        position: 'center',
        wrap: true,
        font_size: 48,
        outline: 3,
        opacity: 0.9,
      },
    },
    { summary: 'A logo', input: { position: 'top-left', scale: 0.25, opacity: 0.8 } },
  ],
  dryrun: ({ url, text, mark_url, ...understood }) => ({
    operation: 'add-watermark',
    source_url: url ?? null,
    text: text ?? null,
    mark_url: mark_url ?? null,
    ...understood,
  }),
  handler: (input, { image, files: { mark } }) => {
    const { text = '', position, opacity, margin, rotate, tile, spacing, format, quality } = input;
    const placing = { position, opacity, margin, rotate, tile: tile ? { spacing } : undefined };
    if (mark) return image.watermark({ ...placing, mark, scale: input.scale }).encode(format, { quality });
    const { font_size: fontSize, color, outline, wrap, max_lines: maxLines } = input;
    const style = { fontSize, color, outline, wrap: wrap ? { maxLines } : undefined };
    return image.watermark({ ...placing, ...style, text }).encode(format, { quality });
  },
});
