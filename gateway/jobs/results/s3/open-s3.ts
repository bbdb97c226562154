import type { Config } from '../../../config.js';
import type { ResultStore } from '../result-store.js';
import { readS3Address, readS3Credentials } from './address.js';
import { createS3Client } from './client.js';
import { createS3Store } from './s3-store.js';

/** Opens the bucket of an `s3://` url by the configuration. Throws a `ConfigError` that names what is missing. */
export function openS3Results(url: string, config: Config): ResultStore {
  const address = readS3Address(url, config);
  const credentials = readS3Credentials(config);
  return createS3Store(address, createS3Client({ ...address, credentials }));
}
