import { expect } from 'chai';
import { pino } from 'pino';
import { openLocalHelpers } from '../../gateway/commands/open-local.js';
import { loadConfig } from '../../gateway/config.js';
import { defineHelper, pictureOutput, pictureOutputRules } from '../../gateway/helper.js';
import type { Helper } from '../../gateway/plugins/registry.js';
import { call } from '../../gateway/testing.js';
import { parseUrlencoded } from '../../schemas/input/parse.js';
import { fixture } from '../fixtures.js';

const env = {
  HELPER_PLUGINS: fixture('plugins/playground'),
  HELPER_IMAGE_ENGINE: 'jimp',
  HELPER_POOL_THREADS: '1',
};

describe('a format that the image engine here does not write', () => {
  it('is refused where there is no server', async () => {
    const local = await openLocalHelpers(loadConfig(env), pino({ level: 'silent' }));
    const query = parseUrlencoded('format=avif&dryrun=1', 'query');
    const reply = await local.call(local.registry.get('all/measures') as Helper, { query });
    await local.close();
    expect(reply.ok || reply.error.message).to.match(/^format .*jimp/);
  });
});

describe('the parameters of a picture’s output', () => {
  it('are validated in a test of the author’s as over HTTP', async () => {
    const helper = defineHelper({
      summary: 'Gives back what it was asked for.',
      input: { type: 'object', properties: pictureOutput, onlyWith: pictureOutputRules },
      handler: ({ format, quality }) => ({ format, quality: quality ?? null }),
    });
    expect(await call(helper, { format: 'JPEG', quality: 9 })).to.deep.equal({ format: 'jpg', quality: 9 });
    const error = await call(helper, { quality: 9 }).catch((thrown) => thrown);
    const problem = 'is for the formats jpg, webp, avif and same; with png it means nothing';
    expect(error.details).to.deep.equal([{ field: 'quality', problem }]);
  });
});
