import { defineHelper, type Image, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

const edges = { top: ['t'], right: ['r'], bottom: ['b'], left: ['l'] };
const corners = { 'top-left': ['tl'], 'top-right': ['tr'], 'bottom-right': ['br'], 'bottom-left': ['bl'] };
const side = { type: 'integer', minimum: 1, maximum: 16_383 } as const;

export default defineHelper({
  summary: 'Makes an image smaller, or larger where that is asked for.',
  description:
    'Takes a JPEG, PNG, WebP, GIF or AVIF from `url` or from the multipart field `file`. With one of `width` and `height` the other follows. With ' +
    'both, `fit` says how the picture fills them: `inside` is as large as fits in them, whole; `cover` fills them, and what is too much on two ' +
    'sides is cut off around its `focus`; `contain` is `inside` with `background` around it up to the size; `fill` is stretched. No picture is enlarged ' +
    'without `enlarge`: it is returned at its own size, `cover` then cuts the shape out of it, and `contain` has more background. With ' +
    '`dryrun` nothing is downloaded or drawn.',
  source: 'image',
  input: {
    type: 'object',
    properties: {
      width: { ...side, description: 'Pixels across; follows the height where it is left out.' },
      height: { ...side, description: 'Pixels down; follows the width where it is left out.' },
      fit: {
        type: 'string',
        choice: { inside: ['fit'], cover: [], contain: [], fill: ['stretch'] },
        default: 'inside',
        description: 'How the picture fills a width and a height that are both given.',
      },
      focus: {
        type: 'string',
        maxLength: 40,
        anyOf: [
          { choice: { center: ['c'], ...edges, ...corners, auto: [] } },
          {
            type: 'string',
            pattern: '^(?:100|\\d{1,2}(?:\\.\\d{1,6})?)%? ?, ?(?:100|\\d{1,2}(?:\\.\\d{1,6})?)%?$',
            description: 'per cent from the left and from the top such as "30%,20%".',
          },
        ],
        default: 'center',
        description:
          'What is kept where something is cut off: center, a side, a corner, a point in per cent from the left and from the top ' +
          'such as "30%,20%", or auto: where edges, saturated colours, skin tones and rare colours are.',
      },
      enlarge: {
        type: 'boolean',
        default: false,
        description: 'Whether a picture may become larger than it is.',
      },
      background: {
        type: 'string',
        color: true,
        maxLength: 100,
        default: '#ffffff',
        description: 'Colour around a picture that contain does not fill.',
      },
      ...pictureOutput,
    },
    anyOf: [{ required: ['width'] }, { required: ['height'] }],
    onlyWith: { ...pictureOutputRules, focus: { fit: ['cover'] } },
  },
  examples: [
    { summary: 'At most 320 pixels wide', input: { width: 320, format: 'webp' } },
    {
      summary: 'A square thumbnail of the subject',
      input: { width: 200, height: 200, fit: 'cover', focus: 'auto', format: 'jpg' },
    },
    {
      summary: 'Whole, on grey',
      input: { width: 400, height: 400, fit: 'contain', background: 'light gray' },
    },
  ],
  dryrun: ({ url, width, height, fit, focus, enlarge, background, format, quality }) => ({
    operation: 'resize',
    source_url: url ?? null,
    width: width ?? null,
    height: height ?? null,
    fit,
    ...(fit === 'cover' ? { focus: normalFocus(focus) } : {}),
    enlarge,
    background,
    format,
    ...(quality === undefined ? {} : { quality }),
  }),
  handler: ({ format, quality, ...wanted }, { image }) => resize(image, wanted).encode(format, { quality }),
});

/** What size is asked for: at least one of width and height, in pixels. */
export interface SizeWanted {
  width?: number | undefined;
  height?: number | undefined;
  fit: 'inside' | 'cover' | 'contain' | 'fill';
  /** In a spelling that a caller may send. */
  focus?: string;
  enlarge: boolean;
  /** `#rrggbb`. */
  background: string;
}

/** The picture at the size that is asked for, or as near to it as it comes without becoming larger. */
export function resize(image: Image, wanted: SizeWanted): Image {
  const { width, height, fit, focus = 'center', enlarge, background } = wanted;
  const isSmaller = (width ?? image.width) >= image.width && (height ?? image.height) >= image.height;
  const inside = () => (isSmaller && !enlarge ? image : image.resize({ width, height, fit: 'inside' }));
  if (width === undefined || height === undefined || fit === 'inside') return inside();
  if (fit === 'cover') {
    const factor = enlarge ? 1 : Math.max(1, width / image.width, height / image.height);
    const shrunk = (side: number) => Math.max(1, Math.round(side / factor));
    return image.resize({ width: shrunk(width), height: shrunk(height), fit, focus: normalFocus(focus) });
  }
  if (fit === 'fill') {
    const least = (wanted: number, own: number) => (enlarge ? wanted : Math.min(wanted, own));
    return image.resize({ width: least(width, image.width), height: least(height, image.height), fit });
  }
  const whole = inside();
  const left = Math.floor((width - whole.width) / 2);
  const top = Math.floor((height - whole.height) / 2);
  const right = width - whole.width - left;
  const bottom = height - whole.height - top;
  return whole.border({ width: 0, top, right, bottom, left, color: background });
}

type Focus = NonNullable<Parameters<Image['resize']>[0]['focus']>;

/** A point as `30%,20%`, any other focus as it is: the schema has made that a name. */
function normalFocus(focus: string): Focus {
  const [x, y] = focus.split(',', 2).map(Number.parseFloat);
  return y === undefined ? (focus as Focus) : `${x as number}%,${y}%`;
}
