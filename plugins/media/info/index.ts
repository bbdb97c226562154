import { defineHelper, type Pixels } from 'helper-gateway/helper';
import { rgbaToThumbHash } from 'thumbhash';

/** The longest side of what colours are taken from: the most that a ThumbHash is made of. */
const side = 100;

const wanted = { type: 'boolean', default: true } as const;
const count = { type: 'integer', minimum: 1 } as const;

export default defineHelper({
  summary: 'Says what an image is: size, format, colours.',
  description:
    'Takes a JPEG, PNG, WebP, GIF or AVIF from `url` or from the multipart field `file` and answers facts about it. ' +
    '`width` and `height` are those of the picture as it is displayed, upright; `orientation` is how it is stored. ' +
    'Where neither `dominant_color` nor `thumbhash` is asked for, only its header is read. With `dryrun` nothing is ' +
    'downloaded.',
  source: 'image',
  cache: false,
  input: {
    type: 'object',
    properties: {
      dominant_color: {
        ...wanted,
        description: 'Whether to find the colour that covers most of the picture.',
      },
      thumbhash: { ...wanted, description: 'Whether to make a ThumbHash, a placeholder of some 25 bytes.' },
    },
  },
  output: {
    type: 'object',
    properties: {
      width: { ...count, description: 'Pixels, upright.' },
      height: { ...count, description: 'Pixels of one frame, upright.' },
      format: { type: 'string', enum: ['png', 'jpg', 'webp', 'gif', 'avif'] },
      frames: { ...count, description: '1 for a still picture.' },
      has_alpha: { type: 'boolean', description: 'Whether it may have transparent pixels.' },
      orientation: { ...count, maximum: 8, description: 'As stored, in EXIF’s numbers; 1 is upright.' },
      bytes: { ...count, description: 'Size of the file.' },
      dominant_color: {
        type: 'string',
        pattern: '^#[0-9a-f]{6}$',
        description: 'Missing where the picture is transparent all over.',
      },
      thumbhash: { type: 'string', description: 'In base64.' },
    },
    required: ['width', 'height', 'format', 'frames', 'has_alpha', 'orientation', 'bytes'],
    additionalProperties: false,
  },
  examples: [
    { summary: 'All there is', input: {} },
    { summary: 'The header alone', input: { dominant_color: false, thumbhash: false } },
  ],
  dryrun: ({ url, dominant_color, thumbhash }) => ({
    operation: 'info',
    source_url: url ?? null,
    dominant_color,
    thumbhash,
  }),
  async handler({ dominant_color, thumbhash }, { image }) {
    const { width, height, format, file } = image;
    const { size: bytes, frames, orientation, hasAlpha: has_alpha } = file;
    const facts = { width, height, format, frames, has_alpha, orientation, bytes };
    if (!dominant_color && !thumbhash) return facts;
    const isSmall = Math.max(width, height) <= side;
    const small = isSmall ? image : image.resize({ width: side, height: side, fit: 'inside' });
    const pixels = await small.pixels();
    const hash = () =>
      Buffer.from(rgbaToThumbHash(pixels.width, pixels.height, pixels.data)).toString('base64');
    return {
      ...facts,
      dominant_color: dominant_color ? findDominantColor(pixels) : undefined,
      thumbhash: thumbhash ? hash() : undefined,
    };
  },
});

/** The mean of the largest group of pixels that share the upper four bits of each channel; clear ones do not count. */
export function findDominantColor({ data }: Pixels): string | undefined {
  const groups = new Map<number, { pixels: number; sums: [number, number, number] }>();
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4);
    if (alpha < 128) continue;
    const key = ((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4);
    const { pixels, sums } = groups.get(key) ?? { pixels: 0, sums: [0, 0, 0] };
    groups.set(key, { pixels: pixels + 1, sums: [sums[0] + red, sums[1] + green, sums[2] + blue] });
  }
  const [first, ...others] = groups.values();
  if (!first) return undefined;
  const { sums, pixels } = others.reduce((most, next) => (next.pixels > most.pixels ? next : most), first);
  return `#${Buffer.from(sums.map((sum) => Math.round(sum / pixels))).toString('hex')}`;
}
