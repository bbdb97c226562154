import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { ConfigError, loadConfig } from '../../../../gateway/config.js';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { openResults } from '../../../../gateway/jobs/open-jobs.js';
import type { ResultStore } from '../../../../gateway/jobs/results/result-store.js';
import { createS3Store, readS3Address } from '../../../../gateway/jobs/results/s3-store.js';
import { rejection } from '../../keys/key-store-contract.js';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

describe('jobs/results on an S3 that', () => {
  let server: Server;
  let store: ResultStore;
  let asked: number;
  /** What it answers to one request after the other; to the last one again and again. */
  let answers: Answer[];

  beforeEach(async () => {
    asked = 0;
    server = createServer((request, response) => {
      const answer = answers[Math.min(asked, answers.length - 1)];
      asked += 1;
      answer?.(response, request.resume());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket`;
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'lent' };
    store = createS3Store({ url, region: 'r', prefix: '', credentials, backOffMs: 1, deadlineMs: 1_000 });
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
  });

  const fine: Answer = (response) => response.end('bytes');
  const refused =
    (status: number, code: string): Answer =>
    (response) =>
      response.writeHead(status).end(`<Error><Code>${code}</Code><Message>It&apos;s so.</Message></Error>`);
  const silent: Answer = () => undefined;
  const broken: Answer = (response) => response.destroy();
  const stuck: Answer = (response) => void response.writeHead(200, { 'content-length': 9 }).write('b');

  it('is away for a moment, or does not answer in time, or not to the end, is asked again', async () => {
    for (const first of [
      [refused(503, 'SlowDown'), broken],
      [silent, stuck],
    ]) {
      asked = 0;
      answers = [...first, fine];
      expect((await store.get('job_a/out/0'))?.toString()).to.equal('bytes');
      expect(asked).to.be.at.least(3);
    }
  });

  it('stays away is given up, with its reason', async () => {
    answers = [refused(500, 'InternalError')];
    const error = (await rejection(store.put('job_a/out/0', Buffer.from('x')))) as StoreError;
    expect(error).to.be.instanceOf(StoreError);
    expect(error).to.include({ code: 'storage_unavailable', status: 503 });
    expect(String(error.cause)).to.equal("S3Failure: S3 answered 500 InternalError: It's so.");
    expect(asked).to.equal(4);
  });

  it('refuses, or cannot delete all, is asked once, and it says why', async () => {
    const listed: Answer = (response) => response.end('<Contents><Key>job_a/out/0</Key></Contents>');
    const left: Answer = (response) => response.end('<Error><Key>a</Key><Code>AccessDenied</Code></Error>');
    answers = [refused(403, 'AccessDenied'), listed, left];
    for (const work of [() => store.get('job_a/out/0'), () => store.removeAll('job_a')]) {
      const error = (await rejection(work())) as StoreError;
      expect(error).to.be.instanceOf(StoreError);
      expect(String(error.cause)).to.contain('AccessDenied');
    }
    expect(asked).to.equal(3);
  });

  it('lends keys for a time is sent their token', async () => {
    answers = [(response, { headers }) => response.end(headers['x-amz-security-token'])];
    expect((await store.get('job_a/out/0'))?.toString()).to.equal('lent');
  });
});

const keys = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'secret/key' };

describe('jobs/results by the configuration', () => {
  function address(url: string, env: Record<string, string> = {}) {
    const config = loadConfig({ ...keys, HELPER_RESULTS_URL: url, ...env });
    return readS3Address(config.resultsUrl ?? '', config);
  }

  it('are at a bucket of AWS, by its region', () => {
    for (const [url, AWS_REGION, expected] of [
      ['s3://my-bucket', 'eu-west-1', 'https://my-bucket.s3.eu-west-1.amazonaws.com'],
      ['s3://my.bucket/a', 'eu-west-1', 'https://s3.eu-west-1.amazonaws.com/my.bucket'],
      ['s3://my-bucket', 'cn-north-1', 'https://my-bucket.s3.cn-north-1.amazonaws.com.cn'],
      ['s3://my-bucket?region=us-east-2', 'eu-west-1', 'https://my-bucket.s3.us-east-2.amazonaws.com'],
    ] as const)
      expect(address(url, { AWS_REGION }).url).to.equal(expected);
  });

  it('are at another store, by a path, below a prefix', () => {
    const url = 's3://bucket//a/b/';
    const endpoint = 'http://minio:9000/x/';
    for (const found of [
      address(`${url}?endpoint=${endpoint}`, { AWS_ENDPOINT_URL_S3: 'http://else' }),
      address(url, { AWS_ENDPOINT_URL: endpoint }),
      address(url, { AWS_ENDPOINT_URL: 'http://else', AWS_ENDPOINT_URL_S3: endpoint }),
    ])
      expect(found).to.deep.equal({
        ...{ url: 'http://minio:9000/x/bucket', region: 'us-east-1', prefix: 'a/b/' },
      });
  });

  it('need what can be reached, and say what is missing without a value', async () => {
    for (const [url, word, env = {}] of [
      ['s3://bucket?region=a', 'needs AWS_SECRET_ACCESS_KEY', { AWS_SECRET_ACCESS_KEY: '' }],
      ['s3://bucket', 'needs AWS_REGION'],
      ['s3://me:secret@bucket?region=a', 'must hold no keys'],
      ['s3://b?region=a', 'must name a bucket'],
      ['s3://bucket/a%20b?region=a', 'must have a prefix'],
      ['s3://bucket?regio=a', 'endpoint and region alone'],
      ['s3://bucket?region=a_secret', 'region of the S3 store'],
      ['s3://bucket?endpoint=minio-secret', 'endpoint of the S3 store'],
    ] as const) {
      const config = loadConfig({ ...keys, HELPER_RESULTS_URL: url, ...env });
      const error = (await rejection(openResults(config))) as ConfigError;
      expect(error, word).to.be.instanceOf(ConfigError);
      expect(error.message)
        .to.include(word)
        .and.not.match(/secret(?!s)/);
    }
  });

  it('touch nothing at first', async () => {
    const HELPER_RESULTS_URL = 's3://bucket/a?endpoint=http://127.0.0.1:1';
    const s3 = await openResults(loadConfig({ ...keys, HELPER_RESULTS_URL }));
    expect(await s3.id()).to.equal('http://127.0.0.1:1/bucket/a/');
    await s3.close();
    await (await openResults(loadConfig({ HELPER_DATA_DIR: '/proc/none' }))).close();
  });
});
