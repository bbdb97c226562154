import { expect } from 'chai';
import { pino } from 'pino';
import { openLocalHelpers } from '../../gateway/commands/open-local.js';
import { loadConfig } from '../../gateway/config.js';
import { defineHelper, pictureOutput, pictureOutputRules } from '../../gateway/helper.js';
import type { Helper } from '../../gateway/plugins/registry.js';
import { call } from '../../gateway/testing.js';
import { parseUrlencoded } from '../../schemas/input/parse.js';
import { fixture } from '../fixtures.js';

const env = { HELPER_PLUGINS: fixture('plugins/playground'), HELPER_IMAGE_ENGINE: 'jimp' };

describe('a format that the image engine here does not write', () => {
  it('is refused where there is no server', async () => {
    const local = await openLocalHelpers(
      loadConfig({ ...env, HELPER_POOL_THREADS: '1' }),
      pino({ level: 'silent' }),
    );
    try {
      const query = parseUrlencoded('format=avif&dryrun=1', 'query');
      const reply = await local.call(local.registry.get('all/measures') as Helper, { query });
      const details = reply.ok ? [] : (reply.error.details ?? []);
      expect(details.map(({ field }) => field)).to.deep.equal(['format']);
      expect(details[0]?.problem).to.include('jimp').and.include('avif').and.include('png, jpg');
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
