import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, request } from 'undici';
import { type Config, ConfigError } from '../../config.js';
import { StoreError, withStore } from '../../database/store-error.js';
import { nameParts, type ResultStore, resultStore } from './result-store.js';

/** Opens the bucket of an `s3://` url by the configuration. Throws a `ConfigError` that names what is missing. */
export function openS3Results(url: string, config: Config): ResultStore {
  return createS3Store({ ...readS3Address(url, config), credentials: readS3Credentials(config) });
}

interface S3Options extends S3Address {
  credentials: ReturnType<typeof readS3Credentials>;
  /** Milliseconds that one try may take, default 15,000. */
  deadlineMs?: number;
  /** Milliseconds before the second try, default 100; it doubles. */
  backOffMs?: number;
  /** Objects that are listed and deleted at a time: S3 allows 1,000. */
  pageSize?: number;
}

/** Keeps files as objects of a bucket; rejects where four tries brought no answer. */
export function createS3Store(options: S3Options): ResultStore {
  const { url, prefix, region, credentials } = options;
  const { deadlineMs = 15_000, backOffMs = 100, pageSize = 1_000 } = options;
  const agent = new Agent({ connections });
  const cache = new Map<string, ArrayBuffer>();
  const keyOf = (name: string) => prefix + nameParts(name).join('/');

  /** Signed anew at each try: a signature is good for some minutes only. */
  async function attempt({ method, key, query = {}, body, headers = {} }: S3Request): Promise<S3Answer> {
    const target = new URL(key === undefined ? url : `${url}/${key}`);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
    const signer = new AwsV4Signer({
      ...{ ...credentials, region, service: 's3', cache, method, url: target.href },
      headers: { ...headers, 'x-amz-content-sha256': await sha256(body) },
    });
    const signed = await signer.sign();
    const response = await request(signed.url, {
      ...{ method, dispatcher: agent, signal: AbortSignal.timeout(deadlineMs) },
      headers: Object.fromEntries(signed.headers),
      body: body ?? null,
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const status = response.statusCode;
    return { status, body: bytes, ...(status < 300 ? {} : { failure: s3Failure(status, bytes) }) };
  }

  async function send(s3Request: S3Request): Promise<S3Answer> {
    const began = performance.now();
    for (let tried = 1; ; tried += 1) {
      const last = tried === maxTries || performance.now() - began > retryForMs;
      try {
        const answer = await attempt(s3Request);
        if (answer.status < 500 && answer.status !== 429) return answer;
        if (last) throw answer.failure;
      } catch (error) {
        if (last) throw error;
      }
      await pause(backOffMs * 2 ** (tried - 1) * (0.5 + Math.random()));
    }
  }

  /** What S3 answers; an error of it is thrown, but for those that are `expected`. */
  function ask(request: S3Request, expected = (_: S3Answer) => false): Promise<S3Answer> {
    return withStore(resultStore, async () => {
      const answer = await send(request);
      if (answer.failure && !expected(answer)) throw answer.failure;
      return answer;
    });
  }

  async function list(query: Record<string, string>): Promise<string> {
    const { body } = await ask({ method: 'GET', query: { 'list-type': '2', ...query } });
    return body.toString();
  }

  /** Up to a thousand, of which S3 names those that it could not delete. */
  async function deleteAll(keys: readonly string[]): Promise<void> {
    const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
    const body = Buffer.from(
      `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects}</Delete>`,
    );
    const headers = {
      'content-type': 'application/xml',
      // Asked for by S3, and no secret hangs on it.
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    const answer = (await ask({ method: 'POST', query: { delete: '' }, body, headers })).body.toString();
    const code = answer.includes('<Error>') && firstTag(answer, 'Code');
    if (code) throw new StoreError(resultStore, new S3Failure(200, code, 'not all objects could be deleted'));
  }

  return {
    id: async () => `${url}/${prefix}`,
    async put(name, bytes) {
      const headers = { 'content-type': 'application/octet-stream' };
      await ask({ method: 'PUT', key: keyOf(name), body: bytes, headers });
    },
    async get(name, range) {
      const headers = range && { range: `bytes=${range.start}-${range.end - 1}` };
      const { status, body } = await ask(
        { method: 'GET', key: keyOf(name), ...(headers ? { headers } : {}) },
        ({ status, failure }) => status === 416 || (status === 404 && failure?.code !== 'NoSuchBucket'),
      );
      if (status === 416) return Buffer.alloc(0);
      return status === 404 ? undefined : body;
    },
    async removeAll(under) {
      const query = { prefix: `${keyOf(under)}/`, 'max-keys': String(pageSize) };
      // Each time from the beginning: what was listed is gone.
      for (;;) {
        const keys = tags(await list(query), 'Key');
        if (keys.length === 0) return;
        await deleteAll(keys);
      }
    },
    async *prefixes() {
      const query: Record<string, string> = { delimiter: '/', prefix, 'max-keys': String(pageSize) };
      for (;;) {
        const page = await list(query);
        for (const common of page.match(/<CommonPrefixes>.*?<\/CommonPrefixes>/gs) ?? []) {
          const name = firstTag(common, 'Prefix');
          if (name) yield name.slice(prefix.length, -1);
        }
        const next = firstTag(page, 'NextContinuationToken');
        if (next === undefined) return;
        query['continuation-token'] = next;
      }
    },
    close: () => agent.close(),
  };
}

interface S3Request {
  method: 'GET' | 'PUT' | 'POST';
  /** An object's name; the bucket itself without. */
  key?: string;
  query?: Record<string, string>;
  body?: Uint8Array;
  headers?: Record<string, string>;
}

/** The whole answer, where the store gave one that will not change by asking again. */
interface S3Answer {
  status: number;
  body: Buffer;
  /** Why it was refused; undefined for 2xx. */
  failure?: S3Failure;
}

const maxTries = 4;
/** After which nothing is tried again: a caller waits. */
const retryForMs = 30_000;
const connections = 16;

/** Of much, off this thread. */
async function sha256(body: Uint8Array = new Uint8Array()): Promise<string> {
  if (body.length < 10_000) return createHash('sha256').update(body).digest('hex');
  return Buffer.from(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex');
}

/** A store's refusal, for the log: its own code and words, which hold no secret. */
class S3Failure extends Error {
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(`S3 answered ${status} ${code}: ${message}`);
    this.name = 'S3Failure';
    this.code = code;
  }
}

function s3Failure(status: number, body: Buffer): S3Failure {
  const text = body.subarray(0, 4096).toString();
  const [code, message] = [firstTag(text, 'Code'), firstTag(text, 'Message')];
  return new S3Failure(status, code ?? 'without a code', message ?? 'no message');
}

/** Which part of which bucket, and where it answers. */
interface S3Address {
  /** Of the bucket, without a slash at its end: its own host, or a path of the store's. */
  url: string;
  region: string;
  /** What all names begin with, with a slash at its end; empty for the whole bucket. */
  prefix: string;
}

type S3Config = Pick<Config, Extract<keyof Config, `aws${string}`>>;

const urlVariable = 'HELPER_RESULTS_URL';

/** Reads `s3://bucket/prefix?endpoint=…&region=…`. Throws a `ConfigError` that names what is wrong or missing, and never a value. */
export function readS3Address(url: string, config: S3Config): S3Address {
  const { hostname: bucket, pathname, searchParams, username, password, port, hash } = new URL(url);
  const problems = [];
  if (username || password)
    problems.push(`${urlVariable} must hold no keys; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY do`);
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket) || port)
    problems.push(`${urlVariable} must name a bucket of 3 to 63 characters, as in s3://bucket/prefix`);
  const prefix = pathname.split('/').filter((part) => part !== '');
  if (!prefix.every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part)) || hash)
    problems.push(`${urlVariable} must have a prefix of A-Z a-z 0-9 . _ - and /`);
  if ([...searchParams.keys()].some((name) => name !== 'endpoint' && name !== 'region'))
    problems.push(`${urlVariable} may have the parameters endpoint and region alone`);
  const endpoint = searchParams.get('endpoint') || config.awsEndpointUrlS3 || config.awsEndpointUrl;
  if (endpoint && !/^https?:\/\/[^\s?#@]+$/.test(endpoint))
    problems.push('The endpoint of the S3 store must be an address that begins with http:// or https://');
  const region = searchParams.get('region') || config.awsRegion || config.awsDefaultRegion;
  if (!endpoint && !region) problems.push(`${urlVariable} needs AWS_REGION, or &region= in it`);
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
function readS3Credentials(config: S3Config) {
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsSessionToken } = config;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const needed = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const missing = Object.entries(needed).flatMap(([name, value]) => (value === undefined ? [name] : []));
    throw new ConfigError([`${urlVariable} needs ${missing.join(' and ')}`]);
  }
  const session = awsSessionToken === undefined ? {} : { sessionToken: awsSessionToken };
  return { accessKeyId, secretAccessKey, ...session };
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The texts of all elements of this name. For S3's answers, which have no attributes and no comments in what is read of them. */
function tags(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) =>
    unescapeXml(text),
  );
}

function firstTag(xml: string, name: string): string | undefined {
  return tags(xml, name)[0];
}

/** Text as it stands in an element. */
function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,4}));/gi, (whole, decimal, hex, name) => {
    if (name) return entities[name] ?? whole;
    const point = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
