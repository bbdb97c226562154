import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { ConfigError, loadConfig } from '../../../../gateway/config.js';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { openResults } from '../../../../gateway/jobs/open-jobs.js';
import type { ResultStore } from '../../../../gateway/jobs/results/result-store.js';
import { createS3Client, createS3Store, readS3Address } from '../../../../gateway/jobs/results/s3-store.js';
import { rejection } from '../../keys/key-store-contract.js';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

describe('jobs/results on an S3 that', () => {
  let server: Server;
  let store: ResultStore;
  /** The same one, which waits a second for an answer. */
  let hasty: ResultStore;
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
    const given = { url, region: 'r', credentials, backOffMs: 1 };
    const openedBy = (deadlineMs: number) =>
      createS3Store({ url, prefix: '' }, createS3Client({ ...given, deadlineMs }));
    store = openedBy(60_000);
    hasty = openedBy(1_000);
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
    await hasty.close();
  });

  const fine: Answer = (response) => response.end('bytes');
  const refused =
    (status: number, code: string): Answer =>
    (response) =>
      response.writeHead(status).end(`<Error><Code>${code}</Code><Message>It&apos;s so.</Message></Error>`);
  const silent: Answer = () => undefined;
  const broken: Answer = (response) => response.destroy();
  const stuck: Answer = (response) => void response.writeHead(200, { 'content-length': 9 }).write('b');

  it('is away for a moment is asked again', async () => {
    answers = [refused(503, 'SlowDown'), broken, broken, fine];
    expect((await store.get('job_a/out/0'))?.toString()).to.equal('bytes');
    expect(asked).to.equal(4);
  });

  it('does not answer in time, or not to the end, is asked again', async () => {
    for (const late of [silent, stuck]) {
      asked = 0;
      answers = [late, fine];
      expect((await hasty.get('job_a/out/0'))?.toString()).to.equal('bytes');
      expect(asked).to.be.at.least(2);
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

  it('refuses is asked once', async () => {
    answers = [refused(403, 'AccessDenied')];
    expect(await rejection(store.get('job_a/out/0'))).to.be.instanceOf(StoreError);
    expect(asked).to.equal(1);
  });

  it('cannot delete all says so', async () => {
    const listed: Answer = (response) => response.end('<Contents><Key>job_a/out/0</Key></Contents>');
    answers = [listed, (response) => response.end('<Error><Key>a</Key><Code>AccessDenied</Code></Error>')];
    const error = (await rejection(store.removeAll('job_a'))) as StoreError;
    expect(String(error.cause)).to.contain('AccessDenied');
  });

  it('lends keys for a time is sent their token', async () => {
    let token: unknown;
    answers = [
      (response, request) => {
        token = request.headers['x-amz-security-token'];
        response.end();
      },
    ];
    await store.put('job_a/out/0', Buffer.from('x'));
    expect(token).to.equal('lent');
  });
});

const keys = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'secret/key' };

function address(env: Record<string, string>) {
  const config = loadConfig({ ...keys, ...env });
  return readS3Address(config.resultsUrl ?? '', config);
}

describe('jobs/results by the configuration', () => {
  it('are at a bucket of AWS, by its region', () => {
    const url = (HELPER_RESULTS_URL: string, AWS_REGION = 'eu-west-1') =>
      address({ HELPER_RESULTS_URL, AWS_REGION }).url;
    expect(url('s3://my-bucket')).to.equal('https://my-bucket.s3.eu-west-1.amazonaws.com');
    expect(url('s3://my.bucket/a')).to.equal('https://s3.eu-west-1.amazonaws.com/my.bucket');
    expect(url('s3://my-bucket', 'cn-north-1')).to.equal('https://my-bucket.s3.cn-north-1.amazonaws.com.cn');
    expect(url('s3://my-bucket?region=us-east-2')).to.equal('https://my-bucket.s3.us-east-2.amazonaws.com');
  });

  it('are at another store, by a path, below a prefix', () => {
    const url = 's3://bucket//a/b/';
    const at = { url: 'http://minio:9000/x/bucket', region: 'us-east-1', prefix: 'a/b/' };
    const endpoint = 'http://minio:9000/x/';
    expect(address({ HELPER_RESULTS_URL: `${url}?endpoint=${endpoint}` })).to.deep.equal(at);
    expect(address({ HELPER_RESULTS_URL: url, AWS_ENDPOINT_URL: endpoint })).to.deep.equal(at);
    expect(
      address({ HELPER_RESULTS_URL: url, AWS_ENDPOINT_URL: 'http://else', AWS_ENDPOINT_URL_S3: endpoint }),
    ).to.deep.equal(at);
  });

  it('need what can be reached, and say what is missing without a value', async () => {
    for (const [env, word] of [
      [
        { HELPER_RESULTS_URL: 's3://bucket?region=a', AWS_SECRET_ACCESS_KEY: '' },
        'needs AWS_SECRET_ACCESS_KEY',
      ],
      [{ HELPER_RESULTS_URL: 's3://bucket' }, 'needs AWS_REGION'],
      [{ HELPER_RESULTS_URL: 's3://me:secret@bucket?region=a' }, 'must hold no keys'],
      [{ HELPER_RESULTS_URL: 's3://b?region=a' }, 'must name a bucket'],
      [{ HELPER_RESULTS_URL: 's3://bucket/a%20b?region=a' }, 'must have a prefix'],
      [{ HELPER_RESULTS_URL: 's3://bucket?regio=a' }, 'endpoint and region alone'],
      [{ HELPER_RESULTS_URL: 's3://bucket?region=a_secret' }, 'region of the S3 store'],
      [{ HELPER_RESULTS_URL: 's3://bucket?endpoint=minio-secret' }, 'endpoint of the S3 store'],
    ] as const) {
      const error = await openResults(loadConfig({ ...keys, ...env })).then(
        () => undefined,
        (thrown) => thrown as ConfigError,
      );
      expect(error, word).to.be.instanceOf(ConfigError);
      expect(error?.message)
        .to.include(word)
        .and.not.match(/secret(?!s)/);
    }
  });

  it('touch nothing at first', async () => {
    const s3 = await openResults(
      loadConfig({ ...keys, HELPER_RESULTS_URL: 's3://bucket/a?endpoint=http://127.0.0.1:1' }),
    );
    expect(await s3.id()).to.equal('http://127.0.0.1:1/bucket/a/');
    await s3.close();
    await (await openResults(loadConfig({ HELPER_DATA_DIR: '/proc/none' }))).close();
  });
});
