import type { Config } from '../config.js';
import {
  type ReadSetting,
  readBytes,
  readCount,
  readLowerCase,
  readNumber,
  readOrigins,
  readOriginsOrAll,
  readPaths,
  readText,
  readUrl,
} from './forms.js';

/** One environment variable: the table from which configuration, messages and documentation come. */
export interface Variable {
  name: string;
  setting: keyof Config;
  /** As it would be written in the environment; undefined where it is optional or counted at the start. */
  default?: string;
  /** What is wanted, as messages end: `must be …`. */
  form: string;
  read: ReadSetting;
  description: string;
}

const address = 'an IP address or host name';
const port = 'a whole number from 0 to 65535; 0 takes any free port';
const milliseconds = 'a whole number of milliseconds from 1 to 3600000';
const size = 'a number of bytes, at most 1 GB, such as 10485760, 10MB or 512KB (1 KB is 1024 bytes)';
const originList = 'origins separated by commas, such as https://images.example:8443, without a path';

/** Every variable that the gateway reads. */
export const variables: readonly Variable[] = [
  v('HOST', 'host', '127.0.0.1', address, readText, 'Address the API listens on.'),
  v('PORT', 'port', '8080', port, readNumber, 'Port of the API.'),
  v('CONNECT_HOST', 'connectHost', '127.0.0.1', address, readText, 'Address of the key-management site.'),
  v('CONNECT_PORT', 'connectPort', '8081', port, readNumber, 'Port of the key-management site and /metrics.'),
  v(
    'HELPER_API_URL',
    'apiUrl',
    undefined,
    'an address that begins with http:// or https://',
    readUrl('http', 'https'),
    'The API’s address as customers see it, for the site’s curl lines; where it listens if unset.',
  ),
  v(
    'HELPER_CONNECT_URL',
    'connectUrl',
    undefined,
    'an address that begins with http:// or https://',
    readUrl('http', 'https'),
    'The site’s address as people’s browsers see it; where it listens if unset.',
  ),
  v(
    'HELPER_CONNECT_PROXIES',
    'connectProxies',
    '0',
    'a whole number from 0 to 10',
    readNumber,
    'Proxies in front of the site whose X-Forwarded-For is believed.',
  ),
  v(
    'HELPER_DATA_DIR',
    'dataDir',
    '.data',
    'the path of a folder',
    readText,
    'Folder of the embedded database.',
  ),
  v(
    'DATABASE_URL',
    'databaseUrl',
    undefined,
    'an address that begins with postgres:// or postgresql://',
    readUrl('postgres', 'postgresql'),
    'PostgreSQL for keys and usage shared by several gateways.',
  ),
  v(
    'REDIS_URL',
    'redisUrl',
    undefined,
    'an address that begins with redis:// or rediss://',
    readUrl('redis', 'rediss'),
    'Redis for limits shared by several gateways.',
  ),
  v('HELPER_PLUGINS', 'pluginDirs', '', 'folders separated by colons', readPaths, 'More plugin folders.'),
  v(
    'HELPER_POOL_THREADS',
    'poolThreads',
    undefined,
    'a whole number from 1 to 256',
    readNumber,
    'Worker threads; as many as there are cores if unset.',
  ),
  v(
    'HELPER_POOL_QUEUE',
    'poolQueue',
    '64',
    'a whole number from 0 to 100000',
    readNumber,
    'Tasks that may wait for a worker.',
  ),
  v(
    'HELPER_IMAGE_ENGINE',
    'imageEngine',
    'auto',
    'auto, sharp or jimp',
    readLowerCase,
    'What draws pictures.',
  ),
  v(
    'HELPER_TASK_TIMEOUT_MS',
    'taskTimeoutMs',
    '10000',
    milliseconds,
    readNumber,
    'Wall clock of one task in the pool.',
  ),
  v(
    'HELPER_SOURCE_ORIGINS',
    'sourceOrigins',
    '',
    originList,
    readOrigins,
    'Origins that are fetched although they are not public.',
  ),
  v(
    'HELPER_SOURCE_TIMEOUT_MS',
    'sourceTimeoutMs',
    '10000',
    milliseconds,
    readNumber,
    'Total time of a download.',
  ),
  v('HELPER_MAX_IMAGE_BYTES', 'maxImageBytes', '10MB', size, readBytes, 'Largest download or upload.'),
  v(
    'HELPER_MAX_PIXELS',
    'maxPixels',
    '40M',
    'a number of pixels from 1 to 1000000000, such as 40000000 or 40M',
    readCount,
    'Width × height × frames of a picture, in and out.',
  ),
  v(
    'HELPER_MAX_FRAMES',
    'maxFrames',
    '250',
    'a whole number from 1 to 100000',
    readCount,
    'Frames of an animated picture.',
  ),
  v(
    'HELPER_MAX_TEXT_BYTES',
    'maxTextBytes',
    '1MB',
    size,
    readBytes,
    'Largest body of a JSON or form request.',
  ),
  v(
    'HELPER_FONTS',
    'fonts',
    '',
    'font files or folders separated by colons',
    readPaths,
    'More fonts for watermarks, tried in order after the shipped one.',
  ),
  v(
    'HELPER_RATE',
    'rate',
    '50',
    'a whole number from 0 to 1000000; 0 is no limit',
    readNumber,
    'Requests a second of a tenant for which nothing else is set.',
  ),
  v(
    'HELPER_BURST',
    'burst',
    '0',
    'a whole number from 0 to 1000000',
    readNumber,
    'Requests beyond the rate that a tenant may spend within ten seconds.',
  ),
  v(
    'HELPER_MONTHLY_QUOTA',
    'monthlyQuota',
    undefined,
    'a whole number from 0 to 1000000000000',
    readNumber,
    'Answered calls of a tenant in a calendar month (UTC); no quota if unset.',
  ),
  v(
    'HELPER_IN_FLIGHT',
    'inFlight',
    undefined,
    'a whole number from 1 to 10000',
    readNumber,
    'Pool tasks of a tenant, waiting or running, in one gateway; no limit if unset.',
  ),
  v(
    'HELPER_REDIS_OUTAGE_SHARE',
    'redisOutageShare',
    '0.5',
    'a number above 0, up to 1',
    readNumber,
    'Share of each rate and burst that a gateway allows while Redis is away.',
  ),
  v(
    'HELPER_USAGE_DAYS',
    'usageDays',
    '400',
    'a whole number from 1 to 36500',
    readNumber,
    'Days that usage figures are kept.',
  ),
  v(
    'HELPER_CORS_ORIGINS',
    'corsOrigins',
    '',
    `* or ${originList}`,
    readOriginsOrAll,
    'Web pages that may call the API from a browser.',
  ),
  v(
    'HELPER_OPERATOR_TOKEN',
    'operatorToken',
    undefined,
    'printable ASCII characters without spaces (take 32 random ones)',
    readText,
    'Bearer token for the key site’s JSON API and /metrics.',
  ),
  v(
    'LOG_LEVEL',
    'logLevel',
    'info',
    'fatal, error, warn, info, debug, trace or silent',
    readLowerCase,
    'Least level that is logged.',
  ),
];

function v(
  name: string,
  setting: keyof Config,
  preset: string | undefined,
  form: string,
  read: ReadSetting,
  description: string,
): Variable {
  return { name, setting, ...(preset === undefined ? {} : { default: preset }), form, read, description };
}
