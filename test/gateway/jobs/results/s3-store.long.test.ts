import { expect } from 'chai';
import { type ResultStore, ResultStoreError } from '../../../../gateway/jobs/results/result-store.js';
import { createS3Client } from '../../../../gateway/jobs/results/s3/client.js';
import { createS3Store } from '../../../../gateway/jobs/results/s3/s3-store.js';
import { skipWithout } from '../../../needs.js';
import { rejection } from '../../keys/key-store-contract.js';
import { resultStoreTests } from './result-store-contract.js';
import { type S3Server, s3Fault, startS3 } from './s3-server.js';

describe('jobs/results on S3', () => {
  let server: S3Server;
  before(async function () {
    const fault = s3Fault();
    if (fault) skipWithout(this, fault);
    server = await startS3();
  });
  after(() => server?.close());

  function open(change: { secretAccessKey?: string; bucket?: string } = {}): ResultStore {
    const { bucket = 'bucket', ...keys } = change;
    const url = `${server.url}/${bucket}`;
    const credentials = { ...server.credentials, ...keys };
    const client = createS3Client({ url, region: 'us-east-1', credentials, backOffMs: 1 });
    return createS3Store({ url, prefix: 'some/where/' }, client, { pageSize: 5 });
  }

  resultStoreTests(open);

  it('rejects what is signed by another secret, naming neither', async () => {
    const store = open({ secretAccessKey: 'wrong-secret' });
    const error = (await rejection(store.put('job_a/out/0', Buffer.from('x')))) as Error;
    expect(error).to.be.instanceOf(ResultStoreError);
    expect(String(error.cause)).to.match(/S3 answered 403 SignatureDoesNotMatch/);
    expect(String(error.cause) + String(error)).not.to.contain('wrong-secret');
    await store.close();
  });

  it('tells a bucket that is not there from a name that is not', async () => {
    const store = open({ bucket: 'nowhere' });
    const error = (await rejection(store.get('job_a/out/0'))) as Error;
    expect(error).to.be.instanceOf(ResultStoreError);
    expect(String(error.cause)).to.contain('NoSuchBucket');
    await store.close();
  });
});
