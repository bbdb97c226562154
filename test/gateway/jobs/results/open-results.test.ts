import { expect } from 'chai';
import { ConfigError, loadConfig } from '../../../../gateway/config.js';
import { openResults } from '../../../../gateway/jobs/results/open-results.js';
import { readS3Address } from '../../../../gateway/jobs/results/s3/address.js';

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
