import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { createS3Store } from '../../../../gateway/jobs/results/s3-store.js';
import { freePorts, skipWithout, until } from '../../../needs.js';
import { rejection } from '../../keys/key-store-contract.js';
import { resultStoreTests } from './result-store-contract.js';

const python = process.env.TEST_MOTO_PYTHON ?? 'python3';

/**
 * Moto, which verifies signatures by AWS's own code (botocore). It does so by an address that it has decoded before, as which no prefix
 * with a slash is signed, not even by AWS's client; so it is given the address as it came.
 */
const server = `
import sys
from moto.core.responses import ActionAuthenticatorMixin as Mixin
from moto.server import main
verify = Mixin._authenticate_and_authorize_action
def verify_as_sent(self, *given, **named):
    decoded, sent = self.uri, getattr(self, "request", None)
    if sent is not None:
        self.uri = "http://host" + sent.environ["RAW_URI"]
    try:
        return verify(self, *given, **named)
    finally:
        self.uri = decoded
Mixin._authenticate_and_authorize_action = verify_as_sent
main(sys.argv[1:])
`;

/** Starts a server that speaks S3, has a bucket `bucket`, and refuses what is not signed by this key. */
async function startS3() {
  const [port = 0] = await freePorts(1);
  const child = spawn(python, ['-c', server, '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await until(() => {
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}`);
    return fetch(url).catch(() => undefined);
  });
  const as = (service: string) => ({
    authorization: `AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`,
  });
  const iam = async (query: string) => {
    const body = new URLSearchParams(`Version=2010-05-08&UserName=ann&${query}`);
    return (await fetch(url, { method: 'POST', headers: as('iam'), body })).text();
  };
  await iam('Action=CreateUser');
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
  const document = encodeURIComponent(JSON.stringify(policy));
  await iam(`Action=PutUserPolicy&PolicyName=all&PolicyDocument=${document}`);
  const key = await iam('Action=CreateAccessKey');
  await fetch(`${url}/bucket`, { method: 'PUT', headers: as('s3') });
  // From now on it looks at signatures and rights.
  await fetch(`${url}/moto-api/reset-auth`, { method: 'POST', body: '0' });
  const part = (name: string) => new RegExp(`<${name}>([^<]+)<`).exec(key)?.[1] ?? '';
  return {
    url,
    credentials: { accessKeyId: part('AccessKeyId'), secretAccessKey: part('SecretAccessKey') },
    async close() {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe('jobs/results on S3', () => {
  let server: Awaited<ReturnType<typeof startS3>>;
  before(async function () {
    const imports = ['-c', 'import moto.server, flask, flask_cors'];
    if (spawnSync(python, imports, { stdio: 'ignore' }).status !== 0)
      skipWithout(this, `moto (pip install "moto[s3,iam,server]"; TEST_MOTO_PYTHON names its python)`);
    server = await startS3();
  });
  after(() => server?.close());

  function open({ bucket = 'bucket', ...keys }: { secretAccessKey?: string; bucket?: string } = {}) {
    const url = `${server.url}/${bucket}`;
    const credentials = { ...server.credentials, ...keys };
    const prefix = 'some/where/';
    return createS3Store({ url, prefix, region: 'us-east-1', credentials, backOffMs: 1, pageSize: 5 });
  }

  resultStoreTests(open);

  it('rejects what is signed by another secret, naming neither', async () => {
    const store = open({ secretAccessKey: 'wrong-secret' });
    const error = (await rejection(store.put('job_a/out/0', Buffer.from('x')))) as Error;
    expect(error).to.be.instanceOf(StoreError);
    expect(String(error.cause)).to.match(/S3 answered 403 SignatureDoesNotMatch/);
    expect(String(error.cause) + String(error)).not.to.contain('wrong-secret');
    await store.close();
  });

  it('distinguishes a bucket that is not there from a name that is not', async () => {
    const store = open({ bucket: 'nowhere' });
    const error = (await rejection(store.get('job_a/out/0'))) as Error;
    expect(error).to.be.instanceOf(StoreError);
    expect(String(error.cause)).to.contain('NoSuchBucket');
    await store.close();
  });
});
