import { expect } from 'chai';
import { pino } from 'pino';
import { openLocalHelpers } from '../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../gateway/config.js';
import type { LocalHelpers } from '../../../gateway/local-helpers.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { fixture } from '../../fixtures.js';

describe('helpers in this process that need a configuration', () => {
  let local: LocalHelpers;

  before(async () => {
    const folders = [fixture('plugins/context'), fixture('plugins/setup')].join(':');
    const env = { HELPER_POOL_THREADS: '1', HELPER_IMAGE_ENGINE: 'jimp', HELPER_PLUGINS: folders };
    local = await openLocalHelpers(loadConfig(env), pino({ level: 'silent' }), {});
  });
  after(() => local.close());

  const call = (id: string) => local.call(local.registry.get(id) as Helper, {});

  for (const id of ['in-pool', 'in-line'])
    it(`name what is missing when they are called: ${id}`, async () => {
      const reply = await call(id);
      expect(reply).to.nested.include({ ok: false, 'error.code': 'internal' });
      expect(!reply.ok && reply.error.message)
        .to.include('TEST_CONTEXT_KEY')
        .and.include('Key of the test.');
    });

  it('do not keep others from being called', async () => {
    const reply = await call('counts');
    const bytes = reply.ok && 'bytes' in reply.answer ? reply.answer.bytes : '';
    expect(Buffer.from(bytes).toString()).to.equal('{"counted":1}');
  });
});
