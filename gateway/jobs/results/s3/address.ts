import { type Config, ConfigError } from '../../../config.js';

/** Which part of which bucket, and where it answers. */
export interface S3Address {
  /** Of the bucket, without a slash at its end: its own host, or a path of the store's. */
  url: string;
  region: string;
  /** What all names begin with, with a slash at its end; empty for the whole bucket. */
  prefix: string;
}

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

type S3Config = Pick<
  Config,
  | 'awsAccessKeyId'
  | 'awsSecretAccessKey'
  | 'awsSessionToken'
  | 'awsRegion'
  | 'awsDefaultRegion'
  | 'awsEndpointUrlS3'
  | 'awsEndpointUrl'
>;

const variable = 'HELPER_RESULTS_URL';

/** Reads `s3://bucket/prefix?endpoint=…&region=…`. Throws a `ConfigError` that names what is wrong or missing, and never a value. */
export function readS3Address(url: string, config: S3Config): S3Address {
  const { hostname: bucket, pathname, searchParams, username, password, port, hash } = new URL(url);
  const problems = [];
  if (username || password)
    problems.push(`${variable} must hold no keys; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY do`);
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket) || port)
    problems.push(`${variable} must name a bucket of 3 to 63 characters, as in s3://bucket/prefix`);
  const prefix = pathname.split('/').filter((part) => part !== '');
  if (!prefix.every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part)) || hash)
    problems.push(`${variable} must have a prefix of A-Z a-z 0-9 . _ - and /`);
  if ([...searchParams.keys()].some((name) => name !== 'endpoint' && name !== 'region'))
    problems.push(`${variable} may have the parameters endpoint and region alone`);
  const endpoint = searchParams.get('endpoint') || config.awsEndpointUrlS3 || config.awsEndpointUrl;
  if (endpoint && !/^https?:\/\/[^\s?#@]+$/.test(endpoint))
    problems.push('The endpoint of the S3 store must be an address that begins with http:// or https://');
  const region = searchParams.get('region') || config.awsRegion || config.awsDefaultRegion;
  if (!endpoint && !region) problems.push(`${variable} needs AWS_REGION, or &region= in it`);
  if (region && !/^[a-z0-9-]{1,64}$/i.test(region))
    problems.push('The region of the S3 store must be letters, digits and -');
  if (problems.length > 0) throw new ConfigError(problems);
  const named = region || 'us-east-1';
  return {
    url: endpoint ? `${endpoint.replace(/\/+$/, '')}/${bucket}` : awsUrl(bucket, named),
    region: named,
    prefix: prefix.map((part) => `${part}/`).join(''),
  };
}

/** A bucket has a host of its own at AWS, but for one with a dot, to which no certificate fits. */
function awsUrl(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

/** Throws a `ConfigError` that names the variables that are missing. */
export function readS3Credentials(config: S3Config): S3Credentials {
  const { awsAccessKeyId, awsSecretAccessKey, awsSessionToken } = config;
  if (awsAccessKeyId === undefined || awsSecretAccessKey === undefined) {
    const missing = [
      ...(awsAccessKeyId === undefined ? ['AWS_ACCESS_KEY_ID'] : []),
      ...(awsSecretAccessKey === undefined ? ['AWS_SECRET_ACCESS_KEY'] : []),
    ];
    throw new ConfigError([`${variable} needs ${missing.join(' and ')}`]);
  }
  const keys = { accessKeyId: awsAccessKeyId, secretAccessKey: awsSecretAccessKey };
  return awsSessionToken === undefined ? keys : { ...keys, sessionToken: awsSessionToken };
}
