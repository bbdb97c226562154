import { defineHelper, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

export default defineHelper({
  summary: 'Writes an image in another format.',
  description:
    'Takes a JPEG, PNG, WebP, GIF or AVIF from `url` or from the multipart field `file` and returns it in `format`. It is turned upright and brought ' +
    'to sRGB, and its metadata is dropped. Transparent pictures stay transparent, except in JPEG, which is laid on white. An animation stays ' +
    'one in WebP and, with `same`, in GIF; it gives its first frame otherwise. With `dryrun` nothing is downloaded or drawn.',
  source: 'image',
  input: {
    type: 'object',
    properties: { ...pictureOutput, format: { ...pictureOutput.format, default: 'webp' } },
    onlyWith: pictureOutputRules,
  },
  examples: [
    { summary: 'As WebP', input: {} },
    { summary: 'A small JPEG', input: { format: 'jpg', quality: 60 } },
  ],
  dryrun: ({ url, format, quality }) => ({
    operation: 'convert',
    source_url: url ?? null,
    format,
    ...(quality === undefined ? {} : { quality }),
  }),
  handler: ({ format, quality }, { image }) => image.encode(format, { quality }),
});
