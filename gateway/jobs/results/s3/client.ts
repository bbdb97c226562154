import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, request } from 'undici';
import { type S3Failure, s3Failure } from './failure.js';

/** One request to a bucket. */
export interface S3Request {
  method: 'GET' | 'PUT' | 'POST';
  /** An object's name; the bucket itself without. */
  key?: string;
  query?: Record<string, string>;
  body?: Uint8Array;
  headers?: Record<string, string>;
}

/** The whole answer, where the store gave one that will not change by asking again. */
export interface S3Answer {
  status: number;
  body: Buffer;
  /** Why it was refused; undefined for 2xx. */
  failure?: S3Failure;
}

export interface S3ClientOptions {
  url: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  /** Milliseconds that one try may take, default 15,000. */
  deadlineMs?: number;
  /** Milliseconds before the second try, default 100; it doubles. */
  backOffMs?: number;
}

const tries = 4;
/** After which nothing is tried again: somebody waits. */
const patienceMs = 30_000;
/** Requests at a time, of a process. */
const connections = 16;

/** Asks one bucket, signed by AWS Signature Version 4; rejects where four tries brought no answer. */
export function createS3Client(options: S3ClientOptions) {
  const { url, region, credentials, deadlineMs = 15_000, backOffMs = 100 } = options;
  const agent = new Agent({ connections });
  const cache = new Map<string, ArrayBuffer>();

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
    if (status < 300) return { status, body: bytes };
    return { status, body: bytes, failure: s3Failure(status, bytes) };
  }

  async function send(asked: S3Request): Promise<S3Answer> {
    const began = performance.now();
    for (let tried = 1; ; tried += 1) {
      const last = tried === tries || performance.now() - began > patienceMs;
      try {
        const answer = await attempt(asked);
        if (answer.status < 500 && answer.status !== 429) return answer;
        if (last) throw answer.failure;
      } catch (error) {
        if (last) throw error;
      }
      await pause(backOffMs * 2 ** (tried - 1) * (0.5 + Math.random()));
    }
  }

  return { send, close: () => agent.close() };
}

export type S3Client = ReturnType<typeof createS3Client>;

/** Of much, off this thread. */
async function sha256(body: Uint8Array = new Uint8Array()): Promise<string> {
  if (body.length < 10_000) return createHash('sha256').update(body).digest('hex');
  return Buffer.from(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex');
}
