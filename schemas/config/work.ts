import { availableParallelism } from 'node:os';
import {
  address,
  bytes,
  choice,
  count,
  folders,
  integer,
  milliseconds,
  origins,
  paths,
  pixels,
  plainText,
  seconds,
  section,
  share,
} from './forms.js';

const mostThreads = 256;

function threadsFor(processes: number): number {
  return Math.max(1, Math.min(mostThreads, Math.floor(availableParallelism() / processes)));
}

export const poolVariables = section('Plugins and the pool', {
  pluginDirs: {
    name: 'HELPER_PLUGINS',
    form: folders,
    default: '',
    description: 'More plugin folders.',
  },
  poolThreads: {
    name: 'HELPER_POOL_THREADS',
    form: integer({ min: 1, max: mostThreads }),
    default: { shown: 'cores', value: (env) => threadsFor(Number(env.HELPER_PROCESSES) || 1) },
    description:
      'Worker threads of a process. If unset, the number of cores divided by HELPER_PROCESSES, at least one.',
  },
  poolQueue: {
    name: 'HELPER_POOL_QUEUE',
    form: integer({ min: 0, max: 100_000 }),
    default: '64',
    description: 'Tasks that may wait for a worker.',
  },
  taskTimeoutMs: {
    name: 'HELPER_TASK_TIMEOUT_MS',
    form: milliseconds({ min: 1, max: 3_600_000 }),
    default: '10000',
    description: 'Wall clock of one handler’s call.',
  },
});

const size = bytes({ max: 1024 ** 3, such: '10485760, 10MB or 512KB (1 KB is 1024 bytes)' });

export const inputVariables = section('Pictures and text', {
  imageEngine: {
    name: 'HELPER_IMAGE_ENGINE',
    form: choice('auto', 'sharp', 'jimp'),
    default: 'auto',
    description: 'What draws pictures.',
  },
  maxImageBytes: {
    name: 'HELPER_MAX_IMAGE_BYTES',
    form: size,
    default: '10MB',
    description: 'Largest download or upload.',
  },
  maxPixels: {
    name: 'HELPER_MAX_PIXELS',
    form: pixels({ min: 1, max: 1_000_000_000 }),
    default: '40M',
    description: 'Width × height × frames of a picture, in and out.',
  },
  maxFrames: {
    name: 'HELPER_MAX_FRAMES',
    form: count({ min: 1, max: 100_000 }),
    default: '250',
    description: 'Frames of an animated picture.',
  },
  maxTextBytes: {
    name: 'HELPER_MAX_TEXT_BYTES',
    form: size,
    default: '1MB',
    description: 'Largest body of a JSON or form request.',
  },
  sourceOrigins: {
    name: 'HELPER_SOURCE_ORIGINS',
    form: origins,
    default: '',
    description: 'Origins that are fetched although they are not public.',
  },
  sourceTimeoutMs: {
    name: 'HELPER_SOURCE_TIMEOUT_MS',
    form: milliseconds({ min: 1, max: 3_600_000 }),
    default: '10000',
    description: 'Total time of a download, and of an attempt to call a webhook (15 s at most).',
  },
  fonts: {
    name: 'HELPER_FONTS',
    form: paths('font files or folders'),
    default: '',
    description: 'More fonts for watermarks, tried in order after the shipped one.',
  },
});

export const jobVariables = section('Jobs and workers', {
  jobs: {
    name: 'HELPER_JOBS',
    form: choice('on', 'off'),
    default: 'on',
    description:
      'Whether `serve` works on job items when no call needs a thread; `off` leaves them to `work`.',
  },
  jobTtlSeconds: {
    name: 'HELPER_JOB_TTL',
    form: seconds({ min: 1, max: 31_536_000 }),
    default: '24h',
    description: 'How long a job and its results are stored after its end.',
  },
  maxJobBytes: {
    name: 'HELPER_MAX_JOB_BYTES',
    form: bytes({ max: 1024 ** 3, such: '67108864, 64MB or 1GB' }),
    default: '64MB',
    description: 'Largest body of a new job, all its files together.',
  },
  maxOpenJobBytes: {
    name: 'HELPER_MAX_OPEN_JOB_BYTES',
    form: bytes({ max: 1024 ** 5, such: '1GB or 200GB' }),
    default: '10GB',
    description:
      "Files and inputs of a tenant's unfinished jobs (at least 64 KB a job and 1 KB an item); past it a new job is `tenant_busy`.",
  },
  maxResultBytes: {
    name: 'HELPER_MAX_RESULT_BYTES',
    form: bytes({ max: 1024 ** 5, such: '1GB or 200GB' }),
    default: '10GB',
    description:
      "Stored results of a tenant's jobs; past it a new job is `tenant_busy`, and items under way fail with `too_large`.",
  },
  webhookOrigins: {
    name: 'HELPER_WEBHOOK_ORIGINS',
    form: origins,
    default: '',
    description:
      'Origins that webhooks of any tenant may be sent to although they are not public. HELPER_SOURCE_ORIGINS is for downloads alone.',
  },
  resultsUrl: {
    name: 'HELPER_RESULTS_URL',
    form: address('s3'),
    description:
      'Store of the files and results of jobs, such as s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-central-1; the data folder if unset. Several hosts need it, or a shared data folder.',
  },
  awsAccessKeyId: {
    name: 'AWS_ACCESS_KEY_ID',
    form: plainText,
    description: 'Access key of the S3 store; required with HELPER_RESULTS_URL.',
  },
  awsSecretAccessKey: {
    name: 'AWS_SECRET_ACCESS_KEY',
    form: plainText,
    description: 'Secret of the access key; required with HELPER_RESULTS_URL.',
  },
  awsSessionToken: {
    name: 'AWS_SESSION_TOKEN',
    form: plainText,
    description: 'Session token of a temporary access key.',
  },
  awsRegion: {
    name: 'AWS_REGION',
    form: plainText,
    description: 'Region of the bucket; `?region=` in HELPER_RESULTS_URL overrides it.',
  },
  awsDefaultRegion: {
    name: 'AWS_DEFAULT_REGION',
    form: plainText,
    description: 'Region of the bucket where AWS_REGION is unset.',
  },
  awsEndpointUrlS3: {
    name: 'AWS_ENDPOINT_URL_S3',
    form: address('http', 'https'),
    description: 'Address of an S3 store other than AWS; `?endpoint=` in HELPER_RESULTS_URL overrides it.',
  },
  awsEndpointUrl: {
    name: 'AWS_ENDPOINT_URL',
    form: address('http', 'https'),
    description: 'The same where AWS_ENDPOINT_URL_S3 is unset.',
  },
  workPort: {
    name: 'HELPER_WORK_PORT',
    form: integer({ min: 0, max: 65_535 }),
    description: 'Port on HOST for `work`’s /healthz, /readyz and /metrics; none if unset.',
  },
});

const held = bytes({ max: 1024 ** 4, such: '268435456, 256MB or 1GB' });

export const flowVariables = section('Inbound and outbound budgets', {
  arriving: {
    name: 'HELPER_ARRIVING',
    form: integer({ min: 2, max: 100_000 }),
    default: '2000',
    description: 'Bodies and downloads in transfer at a time; half of them for one tenant.',
  },
  inputBytes: {
    name: 'HELPER_INPUT_BYTES',
    form: held,
    default: '256MB',
    description: 'Memory for bodies and downloads, in transfer and waiting; half of it for one tenant.',
  },
  outputBytes: {
    name: 'HELPER_OUTPUT_BYTES',
    form: held,
    default: '256MB',
    description: 'Memory for answers that clients have not read yet; half of it for one tenant.',
  },
});

/** What each limit of a tenant may be, by its name in the API: a whole number, both bounds included. */
export const limitBounds = {
  rate: { min: 0, max: 1_000_000 },
  burst: { min: 0, max: 1_000_000 },
  monthly_quota: { min: 0, max: 1_000_000_000_000 },
  in_flight: { min: 1, max: 10_000 },
} as const;

export const limitVariables = section('Limits of a tenant', {
  rate: {
    name: 'HELPER_RATE',
    form: integer({ ...limitBounds.rate, note: '0 is no limit' }),
    default: '50',
    description: 'Requests a second of a tenant for which nothing else is set.',
  },
  burst: {
    name: 'HELPER_BURST',
    form: integer(limitBounds.burst),
    default: '0',
    description: 'Requests beyond the rate that a tenant may spend within ten seconds.',
  },
  monthlyQuota: {
    name: 'HELPER_MONTHLY_QUOTA',
    form: integer(limitBounds.monthly_quota),
    description: 'Answered calls of a tenant in a calendar month (UTC); no quota if unset.',
  },
  inFlight: {
    name: 'HELPER_IN_FLIGHT',
    form: integer(limitBounds.in_flight),
    description: 'Pool tasks of a tenant, waiting or running, in one gateway; no limit if unset.',
  },
  redisOutageShare: {
    name: 'HELPER_REDIS_OUTAGE_SHARE',
    form: share,
    default: '0.5',
    description: 'Share of each rate and burst that a gateway allows while Redis is away.',
  },
});
