import { expect } from 'chai';
import { pino } from 'pino';
import { loadConfig } from '../../../gateway/config.js';
import type { Helper } from '../../../gateway/helpers/registry.js';
import type { LocalHelpers } from '../../../gateway/local/local-helpers.js';
import { openLocalHelpers } from '../../../gateway/local/open-local.js';
import { fixture } from '../../fixtures.js';

describe('helpers in this process that need a configuration', () => {
  let local: LocalHelpers;

  before(async () => {
    const folders = [fixture('plugins/context'), fixture('plugins/setup')].join(':');
    local = await openLocalHelpers(
      loadConfig({ HELPER_POOL_THREADS: '1', HELPER_IMAGE_ENGINE: 'jimp', HELPER_PLUGINS: folders }),
      pino({ level: 'silent' }),
      {},
    );
  });
  after(() => local.close());

  const call = (id: string) => local.call(local.registry.get(id) as Helper, {});

  for (const id of ['in-pool', 'in-line']) {
    it(`are missed it when they are called: ${id}`, async () => {
      const reply = await call(id);
      expect(!reply.ok && reply.error.code).to.equal('internal');
      expect(!reply.ok && reply.error.message)
        .to.include('TEST_CONTEXT_KEY')
        .and.include('Key of the test.');
    });
  }

  it('do not keep others from being called', async () => {
    const reply = await call('counts');
    expect(reply.ok && Buffer.from('bytes' in reply.answer ? reply.answer.bytes : '').toString()).to.equal(
      '{"counted":1}',
    );
  });
});
