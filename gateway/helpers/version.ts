import { createRequire } from 'node:module';

/** This package's version. */
export const { version } = createRequire(import.meta.url)('helper-gateway/package.json') as {
  version: string;
};
