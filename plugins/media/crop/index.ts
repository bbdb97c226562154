import { defineHelper, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

/** The longest side that a JPEG or a GIF can have. */
const longest = 65_535;
const offset = {
  type: ['integer', 'string'],
  measure: { minimum: 0, maximum: longest, percent: true },
} as const;
const side = { ...offset, measure: { ...offset.measure, minimum: 1 } } as const;

export default defineHelper({
  summary: 'Cuts a rectangle out of an image.',
  description:
    'Takes a JPEG, PNG, WebP or GIF from `url` or from the multipart field `file` and returns the part that begins at `left` and `top` and ' +
    'is `width` × `height` large, in pixels or per cent of the picture as it is seen: upright. At least one of the four is needed; a side ' +
    'that is left out reaches to the edge. An area that leaves the picture is refused, not cut. Its metadata is dropped. With `dryrun` ' +
    'nothing is downloaded or drawn.',
  source: 'image',
  input: {
    type: 'object',
    properties: {
      left: {
        ...offset,
        description: 'Distance from the left edge: pixels, or per cent of the width. Default 0.',
      },
      top: { ...offset, description: 'Distance from the top: pixels, or per cent of the height. Default 0.' },
      width: { ...side, description: 'Pixels, or per cent of the width; to the right edge if left out.' },
      height: { ...side, description: 'Pixels, or per cent of the height; to the bottom if left out.' },
      ...pictureOutput,
    },
    anyOf: [{ required: ['width'] }, { required: ['height'] }, { required: ['left'] }, { required: ['top'] }],
    onlyWith: pictureOutputRules,
  },
  examples: [
    { summary: 'The middle', input: { left: '25%', top: '25%', width: '50%', height: '50%' } },
    { summary: 'Without the upper 40 pixels', input: { top: 40, format: 'jpg' } },
  ],
  dryrun: ({ url, left = 0, top = 0, width, height, format, quality }) => ({
    operation: 'crop',
    source_url: url ?? null,
    left,
    top,
    width: width ?? null,
    height: height ?? null,
    format,
    ...(quality === undefined ? {} : { quality }),
  }),
  handler({ left, top, width, height, format, quality }, { image }) {
    const [fromLeft, across] = span(left, width, image.width);
    const [fromTop, down] = span(top, height, image.height);
    return image
      .crop({ left: fromLeft, top: fromTop, width: across, height: down })
      .encode(format, { quality });
  },
});

type Measure = number | `${number}%`;

/** Where an area begins on a side of so many pixels and how long it is: what leaves the picture, `crop` refuses. */
function span(start: Measure = 0, length: Measure | undefined, whole: number): [number, number] {
  const pixels = (measure: Measure) =>
    typeof measure === 'number' ? measure : (Number.parseFloat(measure) / 100) * whole;
  const from = Math.round(pixels(start));
  if (length === undefined) return [from, whole - from];
  // Two parts of 50% are all of a picture, though half of it may be half a pixel.
  const areParts = typeof start === 'string' && typeof length === 'string';
  return [from, Math.round((areParts ? pixels(start) : from) + pixels(length)) - from];
}
