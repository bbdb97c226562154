import { expect } from 'chai';
import { pino } from 'pino';
import { loadConfig } from '../../gateway/config.js';
import { defineHelper, pictureOutput, pictureOutputRules } from '../../gateway/helper.js';
import type { Helper } from '../../gateway/helpers/registry.js';
import { openLocalHelpers } from '../../gateway/local/open-local.js';
import { call } from '../../gateway/testing.js';
import { parseUrlencoded } from '../../schemas/input/urlencoded.js';
import { lightBytes } from '../../schemas/input/weigh.js';
import { fixture } from '../fixtures.js';
import { startTestGateway, type TestGateway } from './harness.js';

const env = { HELPER_PLUGINS: fixture('plugins/playground'), HELPER_IMAGE_ENGINE: 'jimp' };
const path = '/all/measures';

describe('a format that the image engine here does not write', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway(env);
  });
  after(() => gateway.close());

  const isRefused = (details: { field: string; problem: string }[] | undefined) => {
    expect(details?.map(({ field }) => field)).to.deep.equal(['format']);
    expect(details?.[0]?.problem).to.include('jimp').and.include('avif').and.include('png, jpg');
  };

  it('is refused on its field, in a dry run too, naming format and engine', async () => {
    for (const query of ['format=AVIF', 'format=avif&dryrun=1', 'format=avif&quality=40']) {
      const { status, json } = await gateway.call(`${path}?${query}`);
      expect(status, query).to.equal(400);
      isRefused(json.error.details);
    }
    expect((await gateway.call(`${path}?format=webp&quality=40`)).json.data).to.include({ format: 'webp' });
  });

  it('is refused by the workers, which judge what is long', async () => {
    // What is between the values is text all the same.
    const body = `${' '.repeat(lightBytes)}{"format":"avif"}`;
    const headers = { 'content-type': 'application/json' };
    const { status, json } = await gateway.call(path, { method: 'POST', headers, body });
    expect(status).to.equal(400);
    isRefused(json.error.details);
  });

  it('is refused where there is no server', async () => {
    const local = await openLocalHelpers(
      loadConfig({ ...env, HELPER_POOL_THREADS: '1' }),
      pino({ level: 'silent' }),
    );
    try {
      const query = parseUrlencoded('format=avif&dryrun=1', 'query');
      const reply = await local.call(local.registry.get('all/measures') as Helper, { query });
      isRefused(reply.ok ? undefined : reply.error.details);
    } finally {
      await local.close();
    }
  });
});

describe('the parameters of a picture’s output in a test of the author’s', () => {
  const helper = defineHelper({
    summary: 'Gives back what it was asked for.',
    input: { type: 'object', properties: pictureOutput, onlyWith: pictureOutputRules },
    handler: ({ format, quality }) => ({ format, quality: quality ?? null }),
  });

  it('are judged as over HTTP', async () => {
    expect(await call(helper, {})).to.deep.equal({ format: 'png', quality: null });
    expect(await call(helper, { format: 'JPEG', quality: 9 })).to.deep.equal({ format: 'jpg', quality: 9 });
    const error = await call(helper, { quality: 9 }).catch((thrown) => thrown);
    expect(error.details).to.deep.equal([
      {
        field: 'quality',
        problem: 'is for the formats jpg, webp, avif and same; with png it means nothing',
      },
    ]);
  });
});
