import { defineHelper, pictureOutput, pictureOutputRules } from 'helper-gateway/helper';

export default defineHelper({
  summary: 'Turns an image by any angle.',
  description:
    'Takes a JPEG, PNG, WebP or GIF from `url` or from the multipart field `file` and returns it turned clockwise by `angle` degrees. It ' +
    'grows until it holds all of the turned picture; what that leaves empty is `background`, by default transparent, in JPEG white. ' +
    'Multiples of 90 change no pixel. The picture is brought upright before, and its metadata is dropped. With `dryrun` nothing is ' +
    'downloaded or drawn.',
  source: 'image',
  input: {
    type: 'object',
    properties: {
      angle: { type: 'number', minimum: -360, maximum: 360, description: 'Degrees clockwise.' },
      background: {
        type: 'string',
        color: true,
        maxLength: 100,
        description: 'Colour of the corners; without it they are transparent, in JPEG white.',
      },
      ...pictureOutput,
    },
    required: ['angle'],
    onlyWith: pictureOutputRules,
  },
  examples: [
    { summary: 'A quarter to the right', input: { angle: 90, format: 'jpg' } },
    { summary: 'Askew, with grey corners', input: { angle: -7.5, background: 'light gray' } },
  ],
  dryrun: ({ url, angle, background, format, quality }) => ({
    operation: 'rotate',
    source_url: url ?? null,
    angle: angle ?? null,
    background: background ?? null,
    format,
    ...(quality === undefined ? {} : { quality }),
  }),
  handler: ({ angle, background, format, quality }, { image }) =>
    image.rotate(angle, { background }).encode(format, { quality }),
});
