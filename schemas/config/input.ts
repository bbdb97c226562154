import { bytes, count, milliseconds, pixels } from './numbers.js';
import { choice, origins, paths } from './texts.js';
import type { Variables } from './variable.js';

const size = bytes({ max: 1024 ** 3, such: '10485760, 10MB or 512KB (1 KB is 1024 bytes)' });

/** The variables of what helpers work on: pictures and texts. */
export const inputVariables = {
  imageEngine: {
    name: 'HELPER_IMAGE_ENGINE',
    reader: 'input',
    form: choice('auto', 'sharp', 'jimp'),
    default: 'auto',
    description: 'What draws pictures.',
  },
  maxImageBytes: {
    name: 'HELPER_MAX_IMAGE_BYTES',
    reader: 'input',
    form: size,
    default: '10MB',
    description: 'Largest download or upload.',
  },
  maxPixels: {
    name: 'HELPER_MAX_PIXELS',
    reader: 'input',
    form: pixels({ min: 1, max: 1_000_000_000 }),
    default: '40M',
    description: 'Width × height × frames of a picture, in and out.',
  },
  maxFrames: {
    name: 'HELPER_MAX_FRAMES',
    reader: 'input',
    form: count({ min: 1, max: 100_000 }),
    default: '250',
    description: 'Frames of an animated picture.',
  },
  maxTextBytes: {
    name: 'HELPER_MAX_TEXT_BYTES',
    reader: 'input',
    form: size,
    default: '1MB',
    description: 'Largest body of a JSON or form request.',
  },
  sourceOrigins: {
    name: 'HELPER_SOURCE_ORIGINS',
    reader: 'input',
    form: origins,
    default: '',
    description: 'Origins that are fetched although they are not public.',
  },
  sourceTimeoutMs: {
    name: 'HELPER_SOURCE_TIMEOUT_MS',
    reader: 'input',
    form: milliseconds({ min: 1, max: 3_600_000 }),
    default: '10000',
    description: 'Total time of a download; of a try to tell a webhook too, 15 s at most.',
  },
  fonts: {
    name: 'HELPER_FONTS',
    reader: 'input',
    form: paths('font files or folders'),
    default: '',
    description: 'More fonts for watermarks, tried in order after the shipped one.',
  },
} satisfies Variables;
