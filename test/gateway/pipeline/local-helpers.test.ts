import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { pino } from 'pino';
import { openLocalHelpers } from '../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../gateway/config.js';
import type { LocalHelpers } from '../../../gateway/local-helpers.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { fixture } from '../../fixtures.js';

describe('helpers in this process', () => {
  let local: LocalHelpers;

  before(async () => {
    local = await openLocalHelpers(
      loadConfig({ HELPER_POOL_THREADS: '1', HELPER_IMAGE_ENGINE: 'jimp' }),
      pino({ level: 'silent' }),
    );
  });
  after(() => local.close());

  const helper = (id: string) => local.registry.get(id) as Helper;
  const json = (value: unknown) => ({ kind: 'json', bytes: Buffer.from(JSON.stringify(value)) }) as const;

  it('answer texts and JSON alike', async () => {
    const asTexts = await local.call(helper('text/remove-stopwords'), {
      query: parseUrlencoded('text=the+cat'),
    });
    const asJson = await local.call(helper('text/remove-stopwords'), { body: json({ text: 'the cat' }) });
    expect(asTexts.ok && asTexts.answer).to.deep.equal({ kind: 'json', text: '{"text":" cat"}' });
    expect(asJson.ok && asJson.answer).to.deep.equal(asTexts.ok && asTexts.answer);
  });

  it('tell every problem of the input', async () => {
    const reply = await local.call(helper('media/add-border'), { body: json({ width: -1 }) });
    expect(reply.ok).to.equal(false);
    expect(!reply.ok && reply.error.details?.map(({ field }) => field)).to.have.members(['width', 'url']);
  });

  it('work on files in a worker', async () => {
    const bytes = new Uint8Array(
      readFileSync(new URL('../../../../plugins/media/example.jpg', import.meta.url)),
    );
    const uploads = new Map([['file', { bytes, type: 'image/jpeg' }]]);
    const reply = await local.call(helper('media/add-border'), { uploads });
    expect(reply.ok && reply.answer).to.include({ kind: 'bytes', type: 'image/png' });
  });
});

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
