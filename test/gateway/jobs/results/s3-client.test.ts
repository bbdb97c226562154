import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type ResultStore, ResultStoreError } from '../../../../gateway/jobs/results/result-store.js';
import { createS3Client } from '../../../../gateway/jobs/results/s3/client.js';
import { createS3Store } from '../../../../gateway/jobs/results/s3/s3-store.js';
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
    const error = (await rejection(store.put('job_a/out/0', Buffer.from('x')))) as ResultStoreError;
    expect(error).to.be.instanceOf(ResultStoreError);
    expect(error).to.include({ code: 'storage_unavailable', status: 503 });
    expect(String(error.cause)).to.equal("S3Failure: S3 answered 500 InternalError: It's so.");
    expect(asked).to.equal(4);
  });

  it('refuses is asked once', async () => {
    answers = [refused(403, 'AccessDenied')];
    expect(await rejection(store.get('job_a/out/0'))).to.be.instanceOf(ResultStoreError);
    expect(asked).to.equal(1);
  });

  it('cannot delete all says so', async () => {
    const listed: Answer = (response) => response.end('<Contents><Key>job_a/out/0</Key></Contents>');
    answers = [listed, (response) => response.end('<Error><Key>a</Key><Code>AccessDenied</Code></Error>')];
    const error = (await rejection(store.removeAll('job_a'))) as ResultStoreError;
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
