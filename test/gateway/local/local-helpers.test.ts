import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { pino } from 'pino';
import { loadConfig } from '../../../gateway/config.js';
import type { Helper } from '../../../gateway/helpers/registry.js';
import type { LocalHelpers } from '../../../gateway/local/local-helpers.js';
import { openLocalHelpers } from '../../../gateway/local/open-local.js';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';

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
