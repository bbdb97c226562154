import { bytes, seconds } from './numbers.js';
import { tokens } from './texts.js';
import type { Variables } from './variable.js';

/** The variables of pictures on web pages: signed urls, and what is kept of answers. */
export const pageVariables = {
  signingSecret: {
    name: 'HELPER_SIGNING_SECRET',
    reader: 'pages',
    form: tokens,
    description:
      'Master secrets of signed urls and webhooks, separated by commas: the first signs, all verify. A file in the data folder if unset; needed for signing with DATABASE_URL.',
  },
  cacheBytes: {
    name: 'HELPER_CACHE_BYTES',
    reader: 'pages',
    form: bytes({ min: 0, max: 1024 ** 4, such: '67108864, 64MB or 1GB; 0 keeps nothing' }),
    default: '64MB',
    description: 'Memory for answers and downloads that may be used again, shared fairly by tenants.',
  },
  cacheTtlSeconds: {
    name: 'HELPER_CACHE_TTL',
    reader: 'pages',
    form: seconds({ min: 0, max: 31_536_000 }),
    default: '1h',
    description: 'How long browsers and CDNs may keep the answer of a signed url, at most.',
  },
} satisfies Variables;
