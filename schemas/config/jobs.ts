import { bytes, integer, seconds } from './numbers.js';
import { address, choice, origins, plainText } from './texts.js';
import type { Variables } from './variable.js';

/** The variables of work that need not be answered at once. */
export const jobVariables = {
  jobs: {
    name: 'HELPER_JOBS',
    reader: 'jobs',
    form: choice('on', 'off'),
    default: 'on',
    description:
      'Whether `serve` works on the items of jobs itself, when no call wants a thread; `off` leaves them to `work`.',
  },
  jobTtlSeconds: {
    name: 'HELPER_JOB_TTL',
    reader: 'jobs',
    form: seconds({ min: 1, max: 31_536_000 }),
    default: '24h',
    description: 'How long a job and its results are kept after its end.',
  },
  maxJobBytes: {
    name: 'HELPER_MAX_JOB_BYTES',
    reader: 'jobs',
    form: bytes({ max: 1024 ** 3, such: '67108864, 64MB or 1GB' }),
    default: '64MB',
    description: 'Largest body that makes a job, all its files together.',
  },
  maxOpenJobBytes: {
    name: 'HELPER_MAX_OPEN_JOB_BYTES',
    reader: 'jobs',
    form: bytes({ max: 1024 ** 5, such: '1GB or 200GB' }),
    default: '10GB',
    description:
      "What a tenant's jobs may hold that have not ended, files and inputs together (64 KB a job and 1 KB an item at least); past it a further job is `tenant_busy`.",
  },
  maxResultBytes: {
    name: 'HELPER_MAX_RESULT_BYTES',
    reader: 'jobs',
    form: bytes({ max: 1024 ** 5, such: '1GB or 200GB' }),
    default: '10GB',
    description:
      "What the results of a tenant's jobs may hold, those kept included; past it a further job is `tenant_busy`, and items under way fail with `too_large`.",
  },
  webhookOrigins: {
    name: 'HELPER_WEBHOOK_ORIGINS',
    reader: 'jobs',
    form: origins,
    default: '',
    description:
      'Origins that webhooks may be sent to although they are not public. Any tenant may have one sent there: HELPER_SOURCE_ORIGINS, for downloads, does not count.',
  },
  resultsUrl: {
    name: 'HELPER_RESULTS_URL',
    reader: 'jobs',
    form: address('s3'),
    description:
      'Where the files and results of jobs are kept, such as s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-central-1; the data folder if unset. Several hosts need it, or one data folder for all.',
  },
  awsAccessKeyId: {
    name: 'AWS_ACCESS_KEY_ID',
    reader: 'jobs',
    form: plainText,
    description: 'Access key of the S3 store; needed with HELPER_RESULTS_URL.',
  },
  awsSecretAccessKey: {
    name: 'AWS_SECRET_ACCESS_KEY',
    reader: 'jobs',
    form: plainText,
    description: 'Secret of the access key; needed with HELPER_RESULTS_URL.',
  },
  awsSessionToken: {
    name: 'AWS_SESSION_TOKEN',
    reader: 'jobs',
    form: plainText,
    description: 'Session token of an access key that is lent for a time.',
  },
  awsRegion: {
    name: 'AWS_REGION',
    reader: 'jobs',
    form: plainText,
    description: 'Region of the bucket. `?region=` in HELPER_RESULTS_URL goes before it.',
  },
  awsDefaultRegion: {
    name: 'AWS_DEFAULT_REGION',
    reader: 'jobs',
    form: plainText,
    description: 'Region of the bucket where AWS_REGION is unset.',
  },
  awsEndpointUrlS3: {
    name: 'AWS_ENDPOINT_URL_S3',
    reader: 'jobs',
    form: address('http', 'https'),
    description:
      'Where an S3 store other than that of AWS answers. `?endpoint=` in HELPER_RESULTS_URL goes before it.',
  },
  awsEndpointUrl: {
    name: 'AWS_ENDPOINT_URL',
    reader: 'jobs',
    form: address('http', 'https'),
    description: 'The same where AWS_ENDPOINT_URL_S3 is unset.',
  },
  workPort: {
    name: 'HELPER_WORK_PORT',
    reader: 'jobs',
    form: integer({ min: 0, max: 65_535 }),
    description: 'Port on HOST where `work` answers /healthz, /readyz and /metrics; none if unset.',
  },
} satisfies Variables;
